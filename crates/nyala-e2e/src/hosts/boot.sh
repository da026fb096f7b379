# SPDX-License-Identifier: Apache-2.0
# Becomes the first process of a machine. $1: the directory for it; $2: the program to be tested. A mount that fails ends it.
mount -t tmpfs -o mode=755 machine "$1"
mkdir "$1/up" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1/root"
mount -t proc proc "$1/root/proc"
mount --rbind /dev "$1/root/dev"
mount --rbind /sys "$1/root/sys"
for dir in run tmp mnt data disks etc/nyala var/lib/nyala var/log/nyala; do
  mkdir -p "$1/root/$dir"; mount -t tmpfs -o mode=755 machine "$1/root/$dir"
done
mkdir "$1/root/mnt/nyala"
touch "$1/root/usr/local/bin/nyala"
mount --bind "$2" "$1/root/usr/local/bin/nyala"
exec chroot "$1/root" sleep infinity
