#!/bin/bash
# PostgreSQL's pgbench on ext4 on an array, in the lab's kernel. Prints the transactions a second.
# Arguments: the program parlour, the time of an access in ms, MiB of each member, the scale,
# clients, seconds, and the options of `parlour create`.
set -euo pipefail
parlour=$1 access=$2 size=$3 scale=$4 clients=$5 seconds=$6
shift 6
programs=/usr/lib/postgresql/15/bin
cd "$TMPDIR"
chmod 755 .
postgres() { program=$1; shift; setpriv --reuid=postgres --regid=postgres --clear-groups "$programs/$program" "$@"; }

# Each member serves one access at a time, in the same time whatever its length.
mkdir -p /sys/kernel/config
mount -t configfs none /sys/kernel/config
members=
for number in 0 1 2 3 4 5; do
    disk=/sys/kernel/config/nullb/member$number
    mkdir "$disk"
    echo "$size" >"$disk/size"
    echo 4096 >"$disk/blocksize"
    echo 1 >"$disk/memory_backed"
    echo 1 >"$disk/hw_queue_depth"
    echo 2 >"$disk/queue_mode"
    echo 2 >"$disk/irqmode"
    echo 8192 >"$disk/max_sectors"
    echo $((access * 1000000)) >"$disk/completion_nsec"
    echo 1 >"$disk/power"
    members="$members /dev/member$number"
done

"$parlour" create "$@" $members >/dev/null
"$parlour" serve $members --unix nbd.sock >served 2>told &
server=$!
# Waits for something, as long as the server runs.
until_so() { until "$@" >/dev/null 2>&1; do kill -0 $server || { cat told; exit 1; }; sleep 0.2; done; }
until_so test -s served
# (6.12's NBD client loses its connection when a thread that sends gets a signal. The loop device's
# own thread gets none.)
nbd-client -unix nbd.sock /dev/nbd0 -b 4096 >/dev/null 2>&1
losetup --direct-io=on /dev/loop0 /dev/nbd0
mkfs.ext4 -q -E nodiscard /dev/loop0
mkdir mnt
mount /dev/loop0 mnt
mkdir -p mnt/data /run/postgresql
chown postgres mnt/data /run/postgresql
postgres initdb -D mnt/data --data-checksums >/dev/null 2>&1
cat >>mnt/data/postgresql.conf <<END
max_wal_size = 256MB
shared_buffers = 64MB
listen_addresses = ''
autovacuum = off
END
postgres pg_ctl -D mnt/data -l /run/postgresql/log -w start >/dev/null
postgres pgbench -q -i -s "$scale" postgres >/dev/null 2>&1
postgres psql -q -c checkpoint postgres
sync
until_so "$parlour" status /dev/member0 --check
busy() { awk '/^cpu / { print $2 + $3 + $4, $2 + $3 + $4 + $5 + $6 }' /proc/stat; }
before=$(busy)
postgres pgbench -n -c "$clients" -T "$seconds" -M prepared postgres 2>/dev/null | tee pgbench | awk '/^tps/ { print "transactions", $3 }'
echo "processor $before $(busy)"
