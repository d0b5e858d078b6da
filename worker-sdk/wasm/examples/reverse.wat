;; The smallest plug-in: one function, which gives bytes in reverse.
(module
  (memory (export "memory") 1)

  ;; What it offers. Function 0 is the first of the list.
  (data (i32.const 0) "{\"ganger\":1,\"encoding\":\"bytes\",\"functions\":[{\"name\":\"reverse\",\"summary\":\"Bytes in reverse\",\"idempotent\":true}]}")
  (func (export "ganger_contract") (result i64) (i64.const 111)) ;; at 0, 111 bytes

  ;; It keeps one input at a time, from 1024 on, and grows until it fits.
  (func (export "ganger_alloc") (param $length i32) (result i32)
    (local $missing i32)
    (local.set $missing
      (i32.sub
        (i32.shr_u (i32.add (local.get $length) (i32.const 66559)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1))
          (then (return (i32.const 0)))))) ;; no room
    (i32.const 1024))

  ;; Reverses where the input lies, and gives its place and its length as one number.
  (func (export "ganger_call") (param $function i32) (param $at i32) (param $length i32) (result i64)
    (local $low i32) (local $high i32) (local $byte i32)
    (local.set $low (local.get $at))
    (local.set $high (i32.add (local.get $at) (local.get $length)))
    (block $done
      (loop $next
        (local.set $high (i32.sub (local.get $high) (i32.const 1)))
        (br_if $done (i32.ge_s (local.get $low) (local.get $high)))
        (local.set $byte (i32.load8_u (local.get $low)))
        (i32.store8 (local.get $low) (i32.load8_u (local.get $high)))
        (i32.store8 (local.get $high) (local.get $byte))
        (local.set $low (i32.add (local.get $low) (i32.const 1)))
        (br $next)))
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (local.get $length)))))
