;; A plug-in as somebody might send it: one useful function, and three that no host likes to run.
(module
  (memory (export "memory") 1)

  (data (i32.const 0)
    "{\"ganger\":1,\"encoding\":\"bytes\",\"functions\":[{\"name\":\"rot13\",\"summary\":\"Turns letters by 13 places\"},{\"name\":\"endless\"},{\"name\":\"greedy\"},{\"name\":\"broken\"}]}")
  (func (export "ganger_contract") (result i64) (i64.const 156))

  ;; Inputs of up to 60 KiB lie from 4096 on; 0 says that there is no room for more.
  (func (export "ganger_alloc") (param $length i32) (result i32)
    (select (i32.const 4096) (i32.const 0) (i32.le_u (local.get $length) (i32.const 61440))))

  (func (export "ganger_call") (param $function i32) (param $at i32) (param $length i32) (result i64)
    (if (i32.eqz (local.get $function)) (then (call $rot13 (local.get $at) (local.get $length))))
    (if (i32.eq (local.get $function) (i32.const 1)) (then (loop $forever (br $forever))))
    (if (i32.eq (local.get $function) (i32.const 2))
      (then
        (loop $more (br_if $more (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
        (unreachable)))
    ;; Far beyond its own memory: whatever the host keeps there, it cannot be had.
    (if (i32.eq (local.get $function) (i32.const 3)) (then (i32.store (i32.const 0x7fffffff) (i32.const 1))))
    ;; The result lies where the input was.
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (local.get $length))))

  (func $rot13 (param $at i32) (param $length i32)
    (local $end i32) (local $letter i32)
    (local.set $end (i32.add (local.get $at) (local.get $length)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $at) (local.get $end)))
        ;; Its place in the alphabet, whatever its case.
        (local.set $letter (i32.sub (i32.or (i32.load8_u (local.get $at)) (i32.const 32)) (i32.const 97)))
        (if (i32.lt_u (local.get $letter) (i32.const 26))
          (then
            (i32.store8 (local.get $at)
              (i32.add
                (i32.load8_u (local.get $at))
                (select (i32.const 13) (i32.const -13) (i32.lt_u (local.get $letter) (i32.const 13)))))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))))
