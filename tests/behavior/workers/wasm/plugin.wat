;; A plug-in for the tests of both languages. It reads and writes JSON.
(module
  (import "ganger" "log" (func $log (param i32 i32 i32)))
  (import "ganger" "fail" (func $fail (param i32 i32 i32 i32)))
  (import "ganger" "property" (func $property (param i32 i32 i32 i32)))
  (memory (export "memory") 2)
  (global $count (mut i32) (i32.const 0))

  (data (i32.const 65536)
    "{\"ganger\":1,\"encoding\":\"json\",\"functions\":[{\"name\":\"echo\",\"summary\":\"What it is given\",\"idempotent\":true},{\"name\":\"greet\",\"input\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"}}}},{\"name\":\"count\"},{\"name\":\"spin\"},{\"name\":\"trap\"},{\"name\":\"fail\"},{\"name\":\"log\"},{\"name\":\"hog\"}]}")
  (func (export "ganger_contract") (result i64) (i64.const 0x00010000_00000131))
  (data (i32.const 16) "QuotaErrorover quotalimit42")

  (func (export "ganger_alloc") (param $length i32) (result i32)
    (select (i32.const 4096) (i32.const 0) (i32.le_u (local.get $length) (i32.const 61440))))

  (func $spin (loop $on (br $on)))
  (func $fail_with_a_quota
    (call $fail (i32.const 16) (i32.const 10) (i32.const 26) (i32.const 10))
    (call $property (i32.const 36) (i32.const 5) (i32.const 41) (i32.const 2)))
  (func $hog
    (drop (memory.grow (i32.const 4000)))
    (memory.fill (i32.const 131072) (i32.const 1) (i32.const 262144000)))
  ;; One digit: tests count no further.
  (func $counted (result i64)
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (i32.store8 (i32.const 64) (i32.add (i32.const 48) (global.get $count)))
    (i64.const 0x00000040_00000001))

  (func (export "ganger_call") (param $function i32) (param $at i32) (param $length i32) (result i64)
    (if (i32.eq (local.get $function) (i32.const 2)) (then (return (call $counted))))
    (if (i32.eq (local.get $function) (i32.const 3)) (then (call $spin)))
    (if (i32.eq (local.get $function) (i32.const 4)) (then (unreachable)))
    (if (i32.eq (local.get $function) (i32.const 5)) (then (call $fail_with_a_quota)))
    (if (i32.eq (local.get $function) (i32.const 6))
      (then (call $log (i32.const 2) (i32.const 26) (i32.const 10)) (return (i64.const 0))))
    (if (i32.eq (local.get $function) (i32.const 7)) (then (call $hog) (return (i64.const 0))))
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (local.get $length)))))
