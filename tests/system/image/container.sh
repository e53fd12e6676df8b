#!/bin/sh
# container.sh STORAGE RUN CONTAINER VOLUME VARIABLE=VALUE... COMMAND...: run a command in a container of buildah, whose storage
# is in STORAGE and RUN, on a read-only root, with VOLUME at /data and /tmp in memory, as user 10001 without privileges: what
# `docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges` does, without a seccomp filter.
#
# The caller makes namespaces for mounts and processes, so every mount disappears with the command. pivot_root and not
# chroot: in a chroot the kernel denies the user namespaces that bubblewrap needs.
set -eu
root=$(buildah --root "$1" --runroot "$2" mount "$3")
volume=$4
shift 4
mount --bind "$root" "$root"
cd "$root"
mount --bind "$volume" data
mount -t tmpfs -o mode=1777 tmpfs tmp
mount -t proc proc proc
mount --rbind /dev dev
mount -o remount,bind,ro "$root"
cd "$root"
pivot_root . .
umount -l .
cd /
exec setpriv --no-new-privs --reuid 10001 --regid 10001 --clear-groups env -i "$@"
