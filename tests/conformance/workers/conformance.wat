;; The functions that `ganger check` looks for, as a WebAssembly module (SPEC chapter 11). It has no hooks, prints nothing, cannot end
;; its process and reads no input streams: what belongs to those is not checked.
(module
  (import "ganger" "progress" (func $progress (param f64 f64 i32 i32)))
  (import "ganger" "cancelled" (func $cancelled (result i32)))
  (import "ganger" "about" (func $about (param i32 i32) (result i32)))
  (import "ganger" "fail" (func $fail (param i32 i32 i32 i32)))
  (import "ganger" "item" (func $item (param i32 i32) (result i32)))

  ;; Inputs lie from page 1 on, and so do results, which are made when the input is not needed any more.
  (memory (export "memory") 3)
  (data (i32.const 16) "ValueErrorno more")
  (data (i32.const 1024)
    "{\"ganger\":1,\"functions\":[{\"name\":\"check_echo\"},{\"name\":\"check_bytes\"},{\"name\":\"check_fail\"},{\"name\":\"check_number\",\"input\":{\"type\":\"object\",\"required\":[\"number\"],\"properties\":{\"number\":{\"type\":\"integer\"}}}},{\"name\":\"check_odd\"},{\"name\":\"check_context\"},{\"name\":\"check_wait\"},{\"name\":\"check_count\",\"kind\":\"stream\"}]}")
  (func (export "ganger_contract") (result i64) (i64.const 0x00000400_0000013b))

  (func $place (result i32) (i32.const 65536))

  (func $pack (param $at i32) (param $length i32) (result i64)
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (local.get $length))))

  ;; Makes room for so many bytes; 0: there is none.
  (func $room (param $length i32) (result i32)
    (local $missing i32)
    (local.set $missing
      (i32.sub
        (i32.add (i32.shr_u (local.get $length) (i32.const 16)) (i32.const 3))
        (memory.size)))
    (if (i32.gt_s (local.get $missing) (i32.const 0))
      (then
        (if (i32.eq (memory.grow (local.get $missing)) (i32.const -1)) (then (return (i32.const 0))))))
    (call $place))

  (func (export "ganger_alloc") (param $length i32) (result i32) (call $room (local.get $length)))

  (func (export "ganger_call") (param $function i32) (param $at i32) (param $length i32) (result i64)
    (block $count (block $wait (block $context (block $odd (block $number (block $failing (block $bytes (block $echo
      (br_table $echo $bytes $failing $number $odd $context $wait $count (local.get $function)))
      (return (call $pack (local.get $at) (local.get $length))))
      (return (call $zeros (call $integer (local.get $at)))))
      (return (call $give_up (local.get $at))))
      ;; {"number": …}, behind the map and its key.
      (return
        (call $pack (i32.add (local.get $at) (i32.const 8)) (i32.sub (local.get $length) (i32.const 8)))))
      ;; The one byte that MessagePack does not have.
      (i32.store8 (call $place) (i32.const 0xc1))
      (return (call $pack (call $place) (i32.const 1))))
      (return (call $pack (call $place) (call $about (call $place) (i32.const 65536)))))
      (call $progress (f64.const 0) (f64.const nan) (i32.const 0) (i32.const 0))
      (loop $on (br_if $on (i32.eqz (call $cancelled))))
      (call $fail (i32.const 16) (i32.const 10) (i32.const 26) (i32.const 7))
      (return (i64.const 0)))
    (call $stream (local.get $at))
    (i64.const 0))

  ;; So many zero bytes, as MessagePack.
  (func $zeros (param $count i32) (result i64)
    (if (i32.eqz (call $room (i32.add (local.get $count) (i32.const 5)))) (then (unreachable)))
    (i32.store8 (call $place) (i32.const 0xc6))
    (call $big_endian (i32.add (call $place) (i32.const 1)) (local.get $count))
    (memory.fill (i32.add (call $place) (i32.const 5)) (i32.const 0) (local.get $count))
    (call $pack (call $place) (i32.add (local.get $count) (i32.const 5))))

  ;; Fails with the text that it was given.
  (func $give_up (param $at i32) (result i64)
    (local $kind i32) (local $length i32) (local $begin i32)
    (local.set $kind (i32.load8_u (local.get $at)))
    (local.set $begin (i32.add (local.get $at) (i32.const 1)))
    (local.set $length (i32.and (local.get $kind) (i32.const 31)))
    (if (i32.ge_u (local.get $kind) (i32.const 0xd9))
      (then
        (local.set $length (call $read (local.get $begin) (call $width (i32.sub (local.get $kind) (i32.const 0xd9)))))
        (local.set $begin
          (i32.add (local.get $begin) (call $width (i32.sub (local.get $kind) (i32.const 0xd9)))))))
    (call $fail (i32.const 16) (i32.const 10) (local.get $begin) (local.get $length))
    (i64.const 0))

  ;; {"count": …, "bytes": …, "fail": …} in any order.
  (func $stream (param $at i32)
    (local $left i32) (local $letter i32) (local $count i32) (local $bytes i32) (local $fail i32) (local $number i32)
    (local.set $left (i32.and (i32.load8_u (local.get $at)) (i32.const 15)))
    (local.set $at (i32.add (local.get $at) (i32.const 1)))
    (loop $next
      (if (local.get $left)
        (then
          (local.set $letter (i32.load8_u (i32.add (local.get $at) (i32.const 1))))
          (local.set $at
            (i32.add (i32.add (local.get $at) (i32.const 1)) (i32.and (i32.load8_u (local.get $at)) (i32.const 31))))
          (if (i32.eq (local.get $letter) (i32.const 99)) (then (local.set $count (call $integer (local.get $at)))))
          (if (i32.eq (local.get $letter) (i32.const 98)) (then (local.set $bytes (call $integer (local.get $at)))))
          (if (i32.eq (local.get $letter) (i32.const 102))
            (then (local.set $fail (i32.eq (i32.load8_u (local.get $at)) (i32.const 0xc3)))))
          (local.set $at (i32.add (local.get $at) (call $size (i32.load8_u (local.get $at)))))
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (br $next))))
    (loop $next
      (if (i32.lt_u (local.get $number) (local.get $count))
        (then
          (if (call $send (local.get $number) (local.get $bytes)) (then (return)))
          (local.set $number (i32.add (local.get $number) (i32.const 1)))
          (br $next))))
    (if (local.get $fail) (then (call $fail (i32.const 16) (i32.const 10) (i32.const 26) (i32.const 7)))))

  ;; A number, or so many bytes. 1: nobody wants more.
  (func $send (param $number i32) (param $bytes i32) (result i32)
    (if (local.get $bytes)
      (then
        (drop (call $zeros (local.get $bytes)))
        (return (call $item (call $place) (i32.add (local.get $bytes) (i32.const 5))))))
    (i32.store8 (call $place) (i32.const 0xce))
    (call $big_endian (i32.add (call $place) (i32.const 1)) (local.get $number))
    (call $item (call $place) (i32.const 5)))

  ;; An integer of MessagePack that is not negative.
  (func $integer (param $at i32) (result i32)
    (local $kind i32)
    (local.set $kind (i32.load8_u (local.get $at)))
    (if (i32.lt_u (local.get $kind) (i32.const 0x80)) (then (return (local.get $kind))))
    (call $read (i32.add (local.get $at) (i32.const 1)) (call $width (i32.and (local.get $kind) (i32.const 3)))))

  ;; How long a number or a boolean is.
  (func $size (param $kind i32) (result i32)
    (if (i32.lt_u (local.get $kind) (i32.const 0xcc)) (then (return (i32.const 1))))
    (i32.add (i32.const 1) (call $width (i32.and (local.get $kind) (i32.const 3)))))

  (func $width (param $power i32) (result i32) (i32.shl (i32.const 1) (local.get $power)))

  (func $read (param $at i32) (param $width i32) (result i32)
    (local $value i32)
    (loop $next
      (local.set $value (i32.or (i32.shl (local.get $value) (i32.const 8)) (i32.load8_u (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (local.tee $width (i32.sub (local.get $width) (i32.const 1)))))
    (local.get $value))

  (func $big_endian (param $at i32) (param $value i32)
    (i32.store8 (local.get $at) (i32.shr_u (local.get $value) (i32.const 24)))
    (i32.store8 offset=1 (local.get $at) (i32.shr_u (local.get $value) (i32.const 16)))
    (i32.store8 offset=2 (local.get $at) (i32.shr_u (local.get $value) (i32.const 8)))
    (i32.store8 offset=3 (local.get $at) (local.get $value))))
