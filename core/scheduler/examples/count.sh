#!/usr/bin/env bash
# Instructions that one call costs the scheduler, from pools of every size: the same on any machine, however busy.
# The difference of two runs that differ in calls alone leaves out what it takes to come that far.
set -euo pipefail
program=$1
calls=10000

instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

echo "| workers | calls waiting | instructions a call | handed ahead |"
echo "| ---: | ---: | ---: | ---: |"
for size in "1 0" "2 62" "10 1000" "100 1000" "1000 1000" "1000 100000"; do
  read -r workers waiting <<<"$size"
  row="| $workers | $waiting |"
  for ahead in 0 1; do
    few=$(instructions "$workers" "$waiting" 1000 "$ahead")
    many=$(instructions "$workers" "$waiting" $((1000 + calls)) "$ahead")
    row+=" $(((many - few) / calls)) |"
  done
  echo "$row"
done
