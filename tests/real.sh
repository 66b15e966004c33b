#!/usr/bin/env bash
# Runs ckpt on a real project, as a person would, and shows what it prints: save, save again, edit three files, status,
# diff, rollback, reset, undo, redo. Then holds a save of a tree of 30,000 files against a bare walk of it, and the
# 1,001st one-file save against the 10th.
#
#   tests/real.sh [DIR ...]     DIR: projects to try it on; default: this repository, and the largest crate under the
#                               cargo registry. They are copied, never changed.
#
# Needs: cargo, git, strace, and 2 GiB below $TMPDIR. Exits 1 when a figure misses its bound.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$here/target}
(cd "$here" && cargo build --release --locked --quiet -p ckpt-cli && cargo build --release --locked --quiet -p ckpt-fs --example bare_walk)
ckpt=$target/release/ckpt
walk=$target/release/examples/bare_walk
base=$(mktemp -d)
trap 'chmod -R u+w "$base"; rm -rf "$base"' EXIT
OLD_HOME=$HOME
export HOME=$base/home XDG_CONFIG_HOME=$base/home/.config
unset CKPT_WORKSPACE
mkdir -p "$HOME"
missed=0

say() { printf '\n== %s\n' "$*"; }
run() { printf '$ ckpt %s\n' "$*"; "$ckpt" -w "$work" "$@" 2>&1; }
# bound NAME VALUE LIMIT
bound() {
  if awk "BEGIN { exit !($2 <= $3) }"; then verdict=ok; else verdict=MISSED; missed=1; fi
  printf '%-62s %10s  (at most %s)  %s\n' "$1" "$2" "$3" "$verdict"
}

transcript() {
  work=$base/work
  chmod -R u+w "$work" 2>/dev/null || true
  rm -rf "$work" "$HOME/.fabricatio-checkpoint"
  mkdir "$work"
  (cd "$1" && tar --exclude=./target --exclude=./.git -cf - .) | tar -xf - -C "$work"
  say "$(basename "$1"): $(find "$work" -type f | wc -l) files"
  run save "before the edits"
  run save "nothing changed"
  mapfile -t edited < <(cd "$work" && find . -type f -size -200k -name '*.*' ! -name '.*' | sort | head -3 | cut -c3-)
  for file in "${edited[@]}"; do echo "// an edit" >>"$work/$file"; done
  run status
  run diff --stat
  first=$("$ckpt" -w "$work" save "three edits" 2>/dev/null)
  run ls
  run rollback HEAD~1 "${edited[0]}"
  run reset HEAD~1
  run undo
  run redo
  run undo
  run undo
  run status --exit-code
  [ "$first" = "$("$ckpt" -w "$work" save 2>/dev/null)" ]
  store=$(echo "$HOME"/.fabricatio-checkpoint/work_*)
  say "git fsck of the store"
  git --git-dir="$store" fsck --full --strict && echo "clean"
}

largest() {
  local registry=${CARGO_HOME:-$OLD_HOME/.cargo}/registry/src
  find "$registry" -mindepth 2 -maxdepth 2 -type d -exec sh -c 'printf "%s %s\n" "$(find "$1" -type f | wc -l)" "$1"' _ {} \; \
    | sort -rn | head -1 | cut -d' ' -f2-
}

# Median wall time in milliseconds of nine runs of a command.
median_ms() {
  for _ in 1 2 3 4 5 6 7 8 9; do
    local start end
    start=$(date +%s%N); "$@" >/dev/null 2>&1; end=$(date +%s%N)
    echo $(((end - start) / 1000))
  done | sort -n | sed -n 5p | awk '{ printf "%.1f", $1 / 1000 }'
}

figures() {
  say "a second save of 30,000 files"
  work=$base/tree
  mkdir "$work"
  for dir in $(seq 1 300); do
    mkdir -p "$work/d$((dir % 20))/e$dir"
    for file in $(seq 1 100); do echo "file $dir $file" >"$work/d$((dir % 20))/e$dir/f$file.txt"; done
  done
  # What changed in the tick of the save itself has to be read again by the next one; nothing here did.
  sleep 0.1
  "$ckpt" -w "$work" save first >/dev/null 2>&1
  strace -f -qq -e trace=openat,open,openat2 -o "$base/trace" "$ckpt" -w "$work" save >/dev/null 2>&1
  opened=$(grep -v ENOENT "$base/trace" | grep -c '"f[0-9]*\.txt"' || true)
  bound "files of the workspace opened" "$opened" 0
  bare=$(median_ms "$walk" "$work")
  save=$(median_ms "$ckpt" -w "$work" save)
  bound "save ($save ms) over a bare walk ($bare ms), times" "$(awk "BEGIN { printf \"%.2f\", $save / $bare }")" 2.5

  say "1,000 saves of one file each"
  work=$base/many
  mkdir "$work"
  for file in $(seq 1 50); do echo "$file" >"$work/f$file"; done
  export FABRICATIO_CHECKPOINT__DURABILITY=none
  "$ckpt" -w "$work" save first >/dev/null 2>&1
  for round in $(seq 1 1001); do
    echo "$round" >"$work/f$((round % 50 + 1))"
    if [ "$round" = 10 ] || [ "$round" = 1001 ]; then
      strace -f -qq -o "$base/trace-$round" "$ckpt" -w "$work" save "$round" >/dev/null 2>&1
    else
      "$ckpt" -w "$work" save "$round" >/dev/null 2>&1
    fi
  done
  count() { wc -l <"$base/trace-$1"; }
  bytes() { sed -nE 's/^[0-9]+ +(read|pread64)\(.* = ([0-9]+)$/\2/p' "$base/trace-$1" | awk '{ sum += $1 } END { print sum + 0 }'; }
  bound "system calls of the 1,001st ($(count 1001)) over the 10th ($(count 10)), times" \
    "$(awk "BEGIN { printf \"%.2f\", $(count 1001) / $(count 10) }")" 1.5
  bound "bytes read by the 1,001st ($(bytes 1001)) over the 10th ($(bytes 10)), times" \
    "$(awk "BEGIN { printf \"%.2f\", $(bytes 1001) / $(bytes 10) }")" 1.5
  unset FABRICATIO_CHECKPOINT__DURABILITY
}

if [ "$#" = 0 ]; then
  transcript "$here"
  crate=$(largest)
  [ -z "$crate" ] || transcript "$crate"
else
  for dir in "$@"; do transcript "$dir"; done
fi
figures
exit "$missed"
