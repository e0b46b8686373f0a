#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run_with_driver_alone.sh ARGUMENTS: runs the bessemer command where nothing of
# CUDA is but NVIDIA's driver, and no Python or PyTorch: in a root folder of its
# own, which has the command, the C library and others that the command links,
# libcuda with what comes with it, /dev and /proc. Files that ARGUMENTS name are
# taken there, and those behind --output come back. Needs chroot: root, or user
# namespaces.
#
#   bench/models.py export DIR
#   bench/models.py check DIR --target cuda --runner scripts/run_with_driver_alone.sh
#
# shows that engines run by the driver alone: it compiles here, runs there, and
# compares with PyTorch. BSM_ALONE_REPORT is a file that gets the libraries
# which each run has loaded, in the words of the dynamic linker.
#
#   BESSEMER    the command (build/bessemer)
#   BSM_ALONE_ROOT    a folder for the root, kept for the next call
#   LIBCUDA     libcuda.so.1, where the linker does not find it
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
bessemer=${BESSEMER:-$here/build/bessemer}

find_driver() {
  if [ -n "${LIBCUDA:-}" ]; then
    echo "$LIBCUDA"
    return
  fi
  ldconfig -p 2>/dev/null | sed -n 's|.*libcuda\.so\.1 .*=> ||p' | head -1
}

# The libraries that a file needs; the linker itself has its own place.
copy_libraries_of() {
  ldd "$1" | sed -nE 's|^(.* => )?[[:space:]]*(/[^ ]+) \(.*|\2|p' |
    while read -r path; do
      case $path in
        */ld-linux*) to=$root$path ;;
        *) to=$root/libraries/$(basename "$path") ;;
      esac
      mkdir -p "$(dirname "$to")"
      [ -e "$to" ] || cp -L "$path" "$to"
    done
}

make_root() {
  driver=$(find_driver)
  [ -e "$driver" ] || {
    echo "run_with_driver_alone: no libcuda.so.1; LIBCUDA is its path" >&2
    exit 1
  }
  for folder in bin libraries driver dev proc tmp; do
    mkdir -p "$root/$folder"
  done
  cp "$bessemer" "$root/bin/bessemer"
  copy_libraries_of "$bessemer"
  cp -L "$driver" "$root/driver/libcuda.so.1"
  copy_libraries_of "$driver"
  # What the driver compiles PTX with comes with it.
  for name in ptxjitcompiler nvvm gpucomp; do
    for path in "$(dirname "$(readlink -f "$driver")")/libnvidia-$name".so*; do
      [ ! -f "$path" ] || cp -P "$path" "$root/driver/"
    done
  done
  if find "$root" -type f | grep -qiE 'nvrtc|cudart|cublas|cudnn|torch|python'
  then
    echo "run_with_driver_alone: there is more than the driver:" >&2
    find "$root" -type f >&2
    exit 1
  fi
  touch "$root/complete"
}

# In a namespace of mounts of its own, which ends with it: the arguments are the
# root, its folder for this run, and what is run there. /tmp is the root's before
# chroot, too, so that what the linker tells goes there.
# shellcheck disable=SC2016 # the inner shell expands them
enter='folder=$2; cd "$1"; shift 2
  mount --rbind /dev dev && mount --rbind /proc proc && mount --bind tmp /tmp &&
  exec env -i PATH="$PATH" LD_LIBRARY_PATH=/libraries:/driver HOME=/tmp \
    LD_DEBUG=libs LD_DEBUG_OUTPUT="$folder/loaded" chroot . /bin/bessemer "$@"'

kept=${BSM_ALONE_ROOT:-}
root=${kept:-$(mktemp -d)}
work=$root/tmp/$$
mkdir -p "$work"
trap '[ -n "$kept" ] && rm -rf "$work" || rm -rf "$root"' EXIT
[ -e "$root/complete" ] || make_root

outputs=
after=
for argument in "$@"; do
  shift
  if [ "$after" = --output ]; then
    outputs="$outputs $argument"
    set -- "$@" "/tmp/$$/$(basename "$argument")"
  elif [ -f "$argument" ]; then
    cp "$argument" "$work/"
    set -- "$@" "/tmp/$$/$(basename "$argument")"
  else
    set -- "$@" "$argument"
  fi
  after=$argument
done
[ "$1" != run ] || set -- "$@" --trust-code # that it was built here, it can't know
users=
[ "$(id -u)" = 0 ] || users=--map-root-user
status=0
unshare --mount $users sh -c "$enter" enter "$root" "/tmp/$$" "$@" || status=$?
for output in $outputs; do
  [ ! -f "$work/$(basename "$output")" ] ||
    cp "$work/$(basename "$output")" "$output"
done
[ -z "${BSM_ALONE_REPORT:-}" ] ||
  sed '1,/transferring control: chroot/d' "$work"/loaded.* |
  sed -nE 's/.*calling init: //p' | sort -u >>"$BSM_ALONE_REPORT"
exit $status
