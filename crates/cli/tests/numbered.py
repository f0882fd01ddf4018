"""Writes numbered blocks through NBD until the server is gone, and finds out later what became of them.

usage: numbered.py write URI LOG SEED     prints a line after each flush; ends when the connection does
       numbered.py check URI LOG [--lost]
       numbered.py rewrite URI LOG        writes the slots that are lost

Each write has a version, and each sector says which slot of 4 KiB it belongs to and which version it is of. What is
begun and what is done is logged, a line each:

    write VERSION FIRST COUNT FUA    slots FIRST to FIRST + COUNT are about to be written
    done VERSION                     the server has answered
    flush NUMBER, flushed NUMBER     a flush is about to be sent; it is answered
    seen SLOT VERSION...             what `check` has read in a slot, by sector, where several answers were right
    lost SLOT                        `check` could not read a slot, and that was right

Writes that overlap are never under way together. So of a slot the last version that was done before an answered flush
began, or that was done with FUA, must be there, or one that was written later; and what was seen once must be seen
again. Sectors of a slot may differ where the server died while it was being written.

With --lost, a member was lost when the server died: a slot whose write was not answered then may be unreadable. It
must stay unreadable until it is written again.
"""

import errno
import random
import struct
import sys

import nbd

KIB, MIB = 1 << 10, 1 << 20
SECTOR = 512
SLOT = 4 * KIB
SECTORS = SLOT // SECTOR
DEPTH = 16
# Slots of a write, and how often: short ones, parts of stripes, whole stripes.
LENGTHS = [(1, 60), (7, 25), (40, 10), (256, 5)]
STAMP = struct.Struct("<8sQQQ")
MARK = b"numbered"


def sector(slot, version, number):
    return STAMP.pack(MARK, slot, version, number) * (SECTOR // STAMP.size)


def image(first, count, version):
    return b"".join(sector(slot, version, n) for slot in range(first, first + count) for n in range(SECTORS))


def connect(uri):
    disk = nbd.NBD()
    disk.connect_uri(uri)
    return disk


class Log:
    """The log, as far as it has been written."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path) as file:
                self.lines = [line.split() for line in file.read().splitlines()]
        except FileNotFoundError:
            self.lines = []
        # Unbuffered: a line is written before what it announces.
        self.file = open(path, "ab", buffering=0)

    def say(self, *words):
        self.file.write((" ".join(map(str, words)) + "\n").encode())

    def last(self, word):
        return max((int(line[1]) for line in self.lines if line[0] == word), default=0)


class Writer:
    """Keeps `DEPTH` writes under way, and now and then a flush."""

    def __init__(self, disk, log, seed):
        self.disk, self.log = disk, log
        self.chance = random.Random(seed)
        self.slots = disk.get_size() // SLOT
        self.version, self.number = log.last("write"), log.last("flush")
        self.under_way = {}
        self.flushing = False

    def run(self):
        while True:
            while len(self.under_way) < DEPTH:
                self.write()
            if not self.flushing and self.chance.randrange(20) == 0:
                self.flush()
            self.disk.poll(-1)

    def write(self):
        [most] = self.chance.choices([length for length, _ in LENGTHS], [often for _, often in LENGTHS])
        count = self.chance.randint(1, most)
        # Some places are written again and again, others hardly ever.
        within = self.chance.choice([self.slots, self.slots // 64])
        first = self.chance.randrange(max(1, within - count))
        for begin, end in self.under_way.values():
            if first < end and begin < first + count:
                return
        self.version += 1
        version, durable = self.version, self.chance.randrange(30) == 0
        self.under_way[version] = (first, first + count)
        self.log.say("write", version, first, count, int(durable))

        def done(error):
            if error.value == 0:
                self.log.say("done", version)
            del self.under_way[version]
            return 1

        buffer = nbd.Buffer.from_bytearray(image(first, count, version))
        self.disk.aio_pwrite(buffer, first * SLOT, done, nbd.CMD_FLAG_FUA if durable else 0)

    def flush(self):
        self.number += 1
        self.flushing = True
        number = self.number
        self.log.say("flush", number)

        def done(error):
            self.flushing = False
            if error.value == 0:
                self.log.say("flushed", number)
                print("flushed", number, flush=True)
            return 1

        self.disk.aio_flush(done)


class Slot:
    """What may be read in a slot."""

    def __init__(self):
        self.settled = [0] * SECTORS
        self.later = []
        # It was unreadable before the writes of `later`.
        self.lost = False

    def lose(self):
        self.lost, self.later = True, []

    def see(self, versions):
        self.settled, self.later, self.lost = versions, [], False

    def settle(self, version):
        self.settled, self.lost = [version] * SECTORS, False
        self.later = [other for other in self.later if other > version]

    def admits(self, versions):
        """Sectors of a lost slot that nobody has written since have no content that would be right."""
        return all(
            found in self.later or (found == settled and not self.lost)
            for found, settled in zip(versions, self.settled)
        )


def expectations(log, slots):
    """What may be read, by slot, and the versions whose writes were answered."""
    expected = [Slot() for _ in range(slots)]
    places, done, covered, durable, answered = {}, [], {}, set(), set()

    def settle(version):
        first, count = places[version]
        for slot in expected[first:first + count]:
            if version in slot.later:
                slot.settle(version)

    for word, *numbers in log.lines:
        numbers = list(map(int, numbers))
        if word == "write":
            version, first, count, fua = numbers
            places[version] = (first, count)
            for slot in expected[first:first + count]:
                slot.later.append(version)
            if fua:
                durable.add(version)
        elif word == "done":
            answered.add(numbers[0])
            if numbers[0] in durable:
                settle(numbers[0])
            else:
                done.append(numbers[0])
        elif word == "flush":
            covered[numbers[0]], done = done, []
            # A flush that is not answered covers nothing: what it would have covered waits for the next one.
            previous = covered.pop(numbers[0] - 1, [])
            covered[numbers[0]] = previous + covered[numbers[0]]
        elif word == "flushed":
            for version in sorted(covered.pop(numbers[0])):
                settle(version)
        elif word == "seen":
            expected[numbers[0]].see(numbers[1:])
        elif word == "lost":
            expected[numbers[0]].lose()
    return expected, answered


def versions_in(slot, data):
    """The version of each sector of a slot; None for what nobody wrote there."""
    found = []
    for number in range(SECTORS):
        part = data[number * SECTOR:(number + 1) * SECTOR]
        mark, _, version, _ = STAMP.unpack(part[:STAMP.size])
        if part == bytes(SECTOR):
            found.append(0)
        else:
            found.append(version if mark == MARK and part == sector(slot, version, number) else None)
    return found


def read(disk, begin, end):
    """The content of each slot; None if it is unreadable."""
    try:
        data = disk.pread((end - begin) * SLOT, begin * SLOT)
    except nbd.Error as error:
        if error.errnum != errno.EIO:
            raise
        if end == begin + 1:
            return [None]
        return [content for slot in range(begin, end) for content in read(disk, slot, slot + 1)]
    return [data[at:at + SLOT] for at in range(0, len(data), SLOT)]


def check(disk, log, member_lost):
    slots = disk.get_size() // SLOT
    expected, answered = expectations(log, slots)
    wrong, lost, at_once = [], 0, MIB // SLOT
    for begin in range(0, slots, at_once):
        contents = read(disk, begin, min(begin + at_once, slots))
        for slot, content in enumerate(contents, begin):
            right = expected[slot]
            if content is None:
                cut_off = any(version not in answered for version in right.later)
                if not (right.lost or (member_lost and cut_off)):
                    wrong.append(f"slot {slot} is unreadable, not {right.settled} or later {right.later}")
                lost += 1
                log.say("lost", slot)
                continue
            versions = versions_in(slot, content)
            if not right.admits(versions):
                was = "lost" if right.lost else right.settled
                wrong.append(f"slot {slot} has versions {versions}, not {was} or later {right.later}")
            elif right.later:
                log.say("seen", slot, *versions)
    if wrong:
        sys.exit("\n".join(wrong[:10] + [f"{len(wrong)} of {slots} slots are wrong"]))
    written = sum(1 for slot in expected if any(slot.settled) or slot.later)
    print(f"{written} written slots of {slots} are right, {lost} of them unreadable")


def rewrite(disk, log):
    expected, _ = expectations(log, disk.get_size() // SLOT)
    version = log.last("write")
    for number, slot in enumerate(expected):
        if slot.lost:
            version += 1
            log.say("write", version, number, 1, 1)
            disk.pwrite(image(number, 1, version), number * SLOT, nbd.CMD_FLAG_FUA)
            log.say("done", version)


def main():
    command, uri, path, *rest = sys.argv[1:]
    log = Log(path)
    disk = connect(uri)
    if command == "rewrite":
        return rewrite(disk, log)
    if command == "check":
        return check(disk, log, rest == ["--lost"])
    try:
        Writer(disk, log, int(rest[0])).run()
    except nbd.Error as error:
        if not (disk.aio_is_dead() or disk.aio_is_closed()):
            raise
        print("the server is gone:", error.string, flush=True)


main()
