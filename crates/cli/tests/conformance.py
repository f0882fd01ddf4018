"""What an NBD client may expect of the server, each command and flag of it, errors included.

usage: conformance.py URI [--read-only]

Works on any export of at least 48 MiB and overwrites it. Most is asked through libnbd; errors and what libnbd would
never send are asked by a client of a few lines (`Wire`), which sees the numbers on the wire. Names are those of the
protocol's document.
"""

import random
import socket
import struct
import sys
import unittest
import urllib.parse

import nbd

ARGUMENTS = sys.argv[1:]
URI = ARGUMENTS[0] if ARGUMENTS else sys.exit(__doc__)
READ_ONLY = "--read-only" in ARGUMENTS

KIB, MIB = 1 << 10, 1 << 20

# On the wire errors have numbers of their own, which happen to be Linux's.
EPERM, EINVAL, ENOSPC, EOVERFLOW = 1, 22, 28, 75

READ, WRITE, DISC, FLUSH, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS, RESIZE = range(9)
FUA, NO_HOLE, DF, REQ_ONE, FAST_ZERO, PAYLOAD_LEN = (1 << bit for bit in range(6))
COMMANDS = {
    READ: "READ", WRITE: "WRITE", TRIM: "TRIM", CACHE: "CACHE", WRITE_ZEROES: "WRITE_ZEROES",
    BLOCK_STATUS: "BLOCK_STATUS",
}
# Those that take a range and need no metadata context.
RANGED = [READ, WRITE, TRIM, CACHE, WRITE_ZEROES]
WRITING = [WRITE, TRIM, WRITE_ZEROES]


def connect(structured=True, contexts=("base:allocation",), strict=None):
    """A connection through libnbd."""
    handle = nbd.NBD()
    handle.set_request_structured_replies(structured)
    for context in contexts:
        handle.add_meta_context(context)
    if strict is not None:
        handle.set_strict_mode(strict)
    handle.connect_uri(URI)
    return handle


def open_socket():
    """A connection without a word said."""
    parts = urllib.parse.urlparse(URI)
    if "unix" in parts.scheme:
        path = urllib.parse.parse_qs(parts.query)["socket"][0]
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.connect(path)
    else:
        connection = socket.create_connection((parts.hostname, parts.port or 10809))
    # Not to hang for ever if the server says nothing.
    connection.settimeout(60)
    return connection


class Wire:
    """A client that keeps to no rule: fixed newstyle, the default export."""

    def __init__(self, structured, context=False):
        self.socket = open_socket()
        self.structured = structured
        self.cookie = 0
        magic, option_magic, flags = struct.unpack(">8sQH", self.take(18))
        assert magic == b"NBDMAGIC" and option_magic == 0x49484156454F5054, magic
        assert flags & 3 == 3, "fixed newstyle and no zeroes are offered"
        self.socket.sendall(struct.pack(">I", 3))
        if structured:
            assert self.option(8, b"") == [(1, b"")], "structured replies are offered"
        if context:
            name = b"base:allocation"
            data = struct.pack(">III", 0, 1, len(name)) + name
            answers = self.option(10, data)
            assert [kind for kind, _ in answers] == [4, 1], answers
            self.context = struct.unpack(">I", answers[0][1][:4])[0]
        answers = self.option(7, struct.pack(">IH", 0, 0))
        assert answers[-1] == (1, b""), answers
        [self.export] = [data for kind, data in answers if kind == 3 and data[:2] == b"\0\0"]

    def take(self, length):
        data = bytearray()
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            if not part:
                raise EOFError("the server has closed the connection")
            data += part
        return bytes(data)

    def option(self, number, data):
        """Kinds and data of the answers to an option."""
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", number, len(data)) + data)
        answers = []
        while not answers or answers[-1][0] in (2, 3, 4):
            magic, of, kind, length = struct.unpack(">QIII", self.take(20))
            assert (magic, of) == (0x3E889045565A9, number)
            answers.append((kind, self.take(length)))
        return answers

    def send(self, command, flags, offset, length, payload=b""):
        self.cookie += 1
        header = struct.pack(">IHHQQI", 0x25609513, flags, command, self.cookie, offset, length)
        self.socket.sendall(header + payload)

    def answer(self, length):
        """The error and the data or chunk of the answer; `length` is what a read brings."""
        magic = struct.unpack(">I", self.take(4))[0]
        if magic == 0x67446698:
            error, cookie = struct.unpack(">IQ", self.take(12))
            assert cookie == self.cookie
            return error, self.take(length) if error == 0 else b""
        assert magic == 0x668E33EF and self.structured, hex(magic)
        flags, kind, cookie, size = struct.unpack(">HHQI", self.take(16))
        assert cookie == self.cookie and flags == 1, "one chunk, the last"
        chunk = self.take(size)
        if kind & 0x8000:
            error, told = struct.unpack(">IH", chunk[:6])
            assert told == size - 6, "the message fills the chunk"
            chunk[6:].decode()
            return error, b""
        return 0, chunk

    def ask(self, command, flags=0, offset=0, length=0):
        """The error that a request is answered with."""
        payload = bytes(length) if command == WRITE else b""
        self.send(command, flags, offset, length, payload)
        return self.answer(length if command == READ else 0)[0]

    def close(self):
        self.send(DISC, 0, 0, 0)
        assert self.socket.recv(1) == b"", "after a disconnect nothing comes"
        self.socket.close()


def exports(handle):
    """Names and descriptions, as they are listed."""
    found = []

    def told(name, description):
        found.append((name, description))
        return 0

    handle.opt_list(told)
    return found


def metadata_contexts(handle):
    """The names of those that are listed."""
    found = []

    def told(name):
        found.append(name)
        return 0

    handle.opt_list_meta_context(told)
    return found


first = connect()
SIZE = first.get_size()
MINIMUM = first.get_block_size(nbd.SIZE_MINIMUM)
PREFERRED = first.get_block_size(nbd.SIZE_PREFERRED)
MAXIMUM = first.get_block_size(nbd.SIZE_MAXIMUM)
first.shutdown()
assert SIZE >= 48 * MIB, "the export is too small for these tests"

chance = random.Random(4711)


def noise(length):
    return chance.randbytes(length)


def blocks(count):
    return count * MINIMUM


class Handshake(unittest.TestCase):
    """Negotiation."""

    def test_the_export_is_listed_with_its_description(self):
        handle = nbd.NBD()
        handle.set_opt_mode(True)
        handle.connect_uri(URI)
        found = exports(handle)
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0][0] and found[0][1])
        handle.opt_abort()

    def test_info_says_what_go_says_later(self):
        handle = nbd.NBD()
        handle.set_opt_mode(True)
        handle.set_full_info(True)
        handle.add_meta_context("base:allocation")
        handle.connect_uri(URI)
        handle.opt_info()

        def all_of_it():
            sizes = [handle.get_block_size(which) for which in range(3)]
            names = (handle.get_canonical_export_name(), handle.get_export_description())
            flags = (
                handle.is_read_only(), handle.can_flush(), handle.can_fua(), handle.can_trim(), handle.can_zero(),
                handle.can_fast_zero(), handle.can_cache(), handle.can_df(), handle.can_multi_conn(),
                handle.is_rotational(), handle.can_meta_context("base:allocation"),
            )
            return handle.get_size(), sizes, names, flags

        before = all_of_it()
        handle.opt_go()
        self.assertEqual(all_of_it(), before)
        writable = not READ_ONLY
        self.assertEqual(
            before[3], (READ_ONLY, True, True, writable, writable, writable, True, True, True, False, True))
        handle.shutdown()

    def test_the_export_goes_by_its_name_and_by_none(self):
        for named in [False, True]:
            handle = nbd.NBD()
            handle.set_opt_mode(True)
            handle.connect_uri(URI)
            handle.set_export_name(exports(handle)[0][0] if named else "")
            handle.opt_go()
            self.assertEqual(handle.get_size(), SIZE)
            handle.shutdown()

    def test_another_name_is_refused_and_the_client_may_go_on(self):
        handle = nbd.NBD()
        handle.set_opt_mode(True)
        handle.connect_uri(URI)
        handle.set_export_name("there is no such export")
        with self.assertRaises(nbd.Error):
            handle.opt_info()
        with self.assertRaises(nbd.Error):
            handle.opt_go()
        handle.set_export_name("")
        handle.opt_go()
        self.assertEqual(handle.get_size(), SIZE)
        handle.shutdown()

    def test_metadata_contexts_are_listed(self):
        handle = nbd.NBD()
        handle.set_opt_mode(True)
        handle.connect_uri(URI)
        for queries in [[], ["base:"], ["base:allocation"]]:
            handle.clear_meta_contexts()
            for query in queries:
                handle.add_meta_context(query)
            self.assertEqual(metadata_contexts(handle), ["base:allocation"], queries)
        handle.clear_meta_contexts()
        handle.add_meta_context("qemu:dirty-bitmap:none")
        self.assertEqual(metadata_contexts(handle), [])
        handle.opt_abort()

    def test_old_clients_need_no_go(self):
        # Without fixed newstyle there is NBD_OPT_EXPORT_NAME only, with and without 124 zeroes behind it.
        for flags in [0, nbd.HANDSHAKE_FLAG_NO_ZEROES, nbd.HANDSHAKE_FLAG_FIXED_NEWSTYLE]:
            handle = nbd.NBD()
            handle.set_handshake_flags(flags)
            handle.connect_uri(URI)
            self.assertEqual(handle.get_size(), SIZE)
            self.assertEqual(len(handle.pread(4 * KIB, 0)), 4 * KIB)
            handle.shutdown()

    def test_block_sizes_fit_one_another(self):
        self.assertIn(MINIMUM, (512, 4 * KIB))
        self.assertEqual(SIZE % MINIMUM, 0)
        self.assertTrue(MINIMUM <= PREFERRED <= MAXIMUM)
        self.assertEqual(PREFERRED % MINIMUM, 0)
        self.assertEqual(MAXIMUM % MINIMUM, 0)

    def test_an_unknown_option_is_refused_and_the_client_may_go_on(self):
        wire = Wire.__new__(Wire)
        wire.socket, wire.structured, wire.cookie = open_socket(), False, 0
        wire.take(18)
        wire.socket.sendall(struct.pack(">I", 3))
        [(kind, _)] = wire.option(4711, b"who knows")
        self.assertEqual(kind, 1 << 31 | 1, "NBD_REP_ERR_UNSUP")
        self.assertEqual(wire.option(7, struct.pack(">IH", 0, 0))[-1], (1, b""))
        self.assertEqual(wire.ask(READ, 0, 0, MINIMUM), 0)
        wire.close()


class Commands:
    """What commands do, with structured replies and without."""

    structured = True

    def setUp(self):
        contexts = ["base:allocation"] if self.structured else []
        self.disk = connect(self.structured, contexts)
        self.assertEqual(self.disk.get_structured_replies_negotiated(), self.structured)

    def tearDown(self):
        self.disk.shutdown()

    def expect(self, offset, data):
        """What is read, in one piece and in pieces that begin and end elsewhere."""
        found = self.disk.pread(len(data), offset)
        self.assertTrue(found == data, f"{len(data)} bytes at {offset} differ")

    def write(self, offset, length, flags=0):
        data = noise(length)
        self.disk.pwrite(data, offset, flags)
        return data

    def test_read_returns_what_write_wrote(self):
        lengths = [blocks(1), blocks(3), 4 * KIB, 60 * KIB, 64 * KIB, 64 * KIB + blocks(1), MIB, 3 * MIB + blocks(5)]
        for length in lengths:
            for offset in [0, blocks(7), 64 * KIB - blocks(1), 5 * MIB + blocks(1), SIZE - length]:
                self.expect(offset, self.write(offset, length))

    def test_overlapping_writes_leave_the_last(self):
        expected = bytearray(self.write(MIB, 2 * MIB))
        for _ in range(200):
            length = blocks(chance.randrange(1, 300 * KIB // MINIMUM))
            at = blocks(chance.randrange((2 * MIB - length) // MINIMUM))
            expected[at:at + length] = self.write(MIB + at, length)
        self.expect(MIB, bytes(expected))

    def test_the_largest_request_is_served(self):
        data = self.write(blocks(3), MAXIMUM)
        self.expect(blocks(3), data)

    def test_a_durable_write_is_read(self):
        for offset, length in [(0, blocks(1)), (3 * MIB + blocks(1), 200 * KIB)]:
            self.expect(offset, self.write(offset, length, nbd.CMD_FLAG_FUA))

    def test_flush_changes_nothing(self):
        data = self.write(7 * MIB, 256 * KIB)
        self.disk.flush()
        self.disk.flush()
        self.expect(7 * MIB, data)

    def test_trim_touches_its_range_only(self):
        for flags in [0, nbd.CMD_FLAG_FUA]:
            data = self.write(10 * MIB, 4 * MIB)
            begin, end = MIB + blocks(1), 3 * MIB - blocks(2)
            self.disk.trim(end - begin, 10 * MIB + begin, flags)
            self.expect(10 * MIB, data[:begin])
            self.expect(10 * MIB + end, data[end:])
            # What is read there is not defined, but it can be read, and written.
            self.disk.pread(end - begin, 10 * MIB + begin)
            self.expect(10 * MIB + begin, self.write(10 * MIB + begin, end - begin))

    def test_all_of_the_export_can_be_trimmed(self):
        self.disk.trim(SIZE, 0)
        self.expect(0, self.write(0, MIB))

    def test_zeroes_are_read_where_they_were_written_and_nowhere_else(self):
        ranges = [(0, blocks(1)), (blocks(1), 64 * KIB), (MIB - blocks(3), MIB + blocks(4)), (0, 4 * MIB)]
        for flags in [0, nbd.CMD_FLAG_NO_HOLE, nbd.CMD_FLAG_FUA, nbd.CMD_FLAG_NO_HOLE | nbd.CMD_FLAG_FUA]:
            for begin, length in ranges:
                data = bytearray(self.write(20 * MIB, 4 * MIB))
                self.disk.zero(length, 20 * MIB + begin, flags)
                data[begin:begin + length] = bytes(length)
                self.expect(20 * MIB, bytes(data))

    def test_fast_zeroes_are_zeroes_or_refused(self):
        for flags in [nbd.CMD_FLAG_FAST_ZERO, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE]:
            for offset, length in [(20 * MIB, 4 * MIB), (20 * MIB + blocks(1), blocks(9))]:
                data = self.write(offset, length)
                try:
                    self.disk.zero(length, offset, flags)
                    data = bytes(length)
                except nbd.Error as error:
                    self.assertEqual(error.errno, "ENOTSUP")
                self.expect(offset, data)

    def test_more_can_be_zeroed_than_written_at_once(self):
        self.write(0, MIB)
        self.write(SIZE - MIB, MIB)
        self.disk.zero(SIZE, 0)
        for offset in range(0, SIZE, 16 * MIB):
            length = min(16 * MIB, SIZE - offset)
            self.expect(offset, bytes(length))

    def test_zeroed_blocks_can_be_written_again(self):
        self.disk.zero(4 * MIB, 0)
        data = bytearray(4 * MIB)
        for _ in range(50):
            length = blocks(chance.randrange(1, 64 * KIB // MINIMUM))
            at = blocks(chance.randrange((4 * MIB - length) // MINIMUM))
            data[at:at + length] = self.write(at, length)
        self.expect(0, bytes(data))

    def test_cache_changes_nothing(self):
        data = self.write(MIB, MIB)
        self.disk.cache(MIB, MIB)
        self.disk.cache(blocks(1), SIZE - blocks(1))
        self.disk.cache(SIZE, 0)
        self.expect(MIB, data)

    def test_requests_in_flight_do_not_mix(self):
        length = 12 * KIB
        slots = [length * slot for slot in range(512)]
        chance.shuffle(slots)
        wanted = {slot: noise(length) for slot in slots}
        errors = []

        def done(error):
            errors.append(error.value)
            # The command is over, without having to be asked for.
            return 1

        for slot in slots:
            self.disk.aio_pwrite(nbd.Buffer.from_bytearray(wanted[slot]), slot, done)
        while self.disk.aio_in_flight():
            self.disk.poll(-1)
        found = {}
        chance.shuffle(slots)
        for slot in slots:
            buffer = nbd.Buffer(length)
            found[slot] = buffer
            self.disk.aio_pread(buffer, slot, done)
        while self.disk.aio_in_flight():
            self.disk.poll(-1)
        self.assertEqual(errors, [0] * 2 * len(slots))
        for slot in slots:
            self.assertTrue(bytes(found[slot].to_bytearray()) == wanted[slot], f"slot at {slot} differs")

    def test_what_one_client_wrote_all_clients_read(self):
        others = [connect(self.structured, []) for _ in range(4)]
        for other in others:
            self.assertTrue(other.can_multi_conn())
            data = noise(MIB)
            other.pwrite(data, 30 * MIB)
            self.disk.flush()
            self.expect(30 * MIB, data)
            for another in others:
                self.assertTrue(another.pread(MIB, 30 * MIB) == data)
        for other in others:
            other.shutdown()

    def test_a_client_that_vanishes_costs_itself_only(self):
        data = self.write(0, MIB)
        gone = Wire(self.structured)
        # In the middle of a payload.
        gone.send(WRITE, 0, 2 * MIB, MIB, bytes(64 * KIB))
        gone.socket.close()
        # With answers that nobody takes.
        gone = Wire(self.structured)
        for _ in range(8):
            gone.send(READ, 0, 0, MIB)
        gone.socket.close()
        # With garbage.
        gone = Wire(self.structured)
        gone.socket.sendall(noise(28))
        with self.assertRaises((EOFError, ConnectionError)):
            gone.take(1)
        gone.socket.close()
        self.expect(0, data)

    def test_df_is_honoured_or_refused(self):
        wire = Wire(self.structured)
        if self.structured:
            for length in [blocks(1), MIB, MAXIMUM]:
                wire.send(READ, DF, 0, length)
                error, chunk = wire.answer(length)
                self.assertEqual((error, len(chunk)), (0, length + 8))
            self.assertEqual(wire.ask(READ, DF, 0, MAXIMUM + MINIMUM), EOVERFLOW)
        else:
            self.assertEqual(wire.ask(READ, DF, 0, blocks(1)), EINVAL)
        wire.close()

    def test_every_refusal_has_its_error_and_leaves_the_client_and_the_data_alone(self):
        data = self.write(0, 64 * KIB)
        wire = Wire(self.structured)
        for command, flags, offset, length, error in refusals(self.structured):
            found = wire.ask(command, flags, offset, length)
            name = COMMANDS.get(command, command)
            self.assertEqual(found, error, f"{name} with flags {flags:#x}, {length} bytes at {offset}")
            wire.send(READ, 0, 0, 64 * KIB)
            found, chunk = wire.answer(64 * KIB)
            self.assertEqual(found, 0)
            self.assertTrue(chunk[-64 * KIB:] == data, f"{name} has changed something")
        wire.close()

    def test_flags_that_mean_nothing_to_a_command_but_are_allowed_pass(self):
        wire = Wire(self.structured)
        for command in RANGED:
            self.assertEqual(wire.ask(command, FUA, 0, blocks(1)), 0, COMMANDS[command])
        self.assertEqual(wire.ask(FLUSH, FUA), 0)
        wire.close()


def refusals(structured):
    """Requests that break a rule: command, flags, offset, length, error."""
    for command in RANGED:
        grows = command in (WRITE, WRITE_ZEROES)
        beyond = ENOSPC if grows else EINVAL
        yield command, 0, 0, 0, EINVAL
        yield command, 0, SIZE, 0, EINVAL
        yield command, 0, blocks(1) + 1, blocks(1), EINVAL
        yield command, 0, blocks(1), blocks(1) + 1, EINVAL
        yield command, 0, blocks(1), blocks(2) - 1, EINVAL
        yield command, 0, MINIMUM // 2, MINIMUM // 2, EINVAL
        yield command, 0, 1, 1, EINVAL
        yield command, 0, SIZE, blocks(1), beyond
        yield command, 0, SIZE - blocks(1), blocks(2), beyond
        yield command, 0, SIZE + 100 * MIB, blocks(1), beyond
        yield command, 0, (1 << 63) - MINIMUM, blocks(1), beyond
        yield command, 0, (1 << 64) - MINIMUM, blocks(1), beyond
        yield command, 0, (1 << 64) - MINIMUM, blocks(2), beyond
        yield command, 1 << 15, 0, blocks(1), EINVAL
        yield command, REQ_ONE, 0, blocks(1), EINVAL
        yield command, PAYLOAD_LEN, 0, blocks(1), EINVAL
        if command != WRITE_ZEROES:
            yield command, NO_HOLE, 0, blocks(1), EINVAL
            yield command, FAST_ZERO, 0, blocks(1), EINVAL
        if command != READ:
            yield command, DF, 0, blocks(1), EINVAL
    for command in (READ, WRITE):
        yield command, 0, 0, MAXIMUM + MINIMUM, EINVAL
    yield FLUSH, 0, MINIMUM, 0, EINVAL
    yield FLUSH, 0, 0, MINIMUM, EINVAL
    yield FLUSH, NO_HOLE, 0, 0, EINVAL
    # Without a metadata context nothing can be said of blocks.
    yield BLOCK_STATUS, 0, 0, blocks(1), EINVAL
    yield RESIZE, 0, 0, MINIMUM, EINVAL
    yield 4711, 0, 0, MINIMUM, EINVAL


class SimpleReplies(Commands, unittest.TestCase):
    """Commands on a connection with simple replies."""

    structured = False


class StructuredReplies(Commands, unittest.TestCase):
    """Commands on a connection with structured replies."""

    def test_chunks_of_a_read_cover_it_once(self):
        data = self.write(MIB, 3 * MIB)
        found = []

        def chunk(bytes_read, offset, status, error):
            self.assertEqual(status, nbd.READ_DATA)
            found.append((offset, len(bytes_read)))
            return 0

        self.assertTrue(self.disk.pread_structured(3 * MIB, MIB, chunk) == data)
        at = MIB
        for offset, length in sorted(found):
            self.assertEqual(offset, at)
            at += length
        self.assertEqual(at, 4 * MIB)
        found.clear()
        self.assertTrue(self.disk.pread_structured(3 * MIB, MIB, chunk, nbd.CMD_FLAG_DF) == data)
        self.assertEqual(found, [(MIB, 3 * MIB)])


class BlockStatus(unittest.TestCase):
    """The metadata context base:allocation."""

    def setUp(self):
        self.disk = connect()
        self.assertTrue(self.disk.can_meta_context("base:allocation"))

    def tearDown(self):
        self.disk.shutdown()

    def extents(self, length, offset, flags=0):
        """Lengths and flags, as far as one answer tells."""
        found = []

        def told(context, _, entries, error):
            self.assertEqual(context, "base:allocation")
            found.extend(zip(entries[::2], entries[1::2]))
            return 0

        self.disk.block_status(length, offset, told, flags)
        self.assertTrue(found)
        for extent, state in found:
            self.assertTrue(extent > 0 and extent % MINIMUM == 0)
            self.assertEqual(state & ~(nbd.STATE_HOLE | nbd.STATE_ZERO), 0)
        return found

    def test_extents_cover_the_export(self):
        at = 0
        while at < SIZE:
            at += sum(length for length, _ in self.extents(SIZE - at, at))
        self.assertEqual(at, SIZE)

    def test_one_extent_is_told_where_one_is_asked_for(self):
        for offset, length in [(0, blocks(1)), (MIB, 5 * MIB), (SIZE - blocks(1), blocks(1))]:
            found = self.extents(length, offset, nbd.CMD_FLAG_REQ_ONE)
            self.assertEqual(len(found), 1)
            self.assertLessEqual(found[0][0], length)

    @unittest.skipIf(READ_ONLY, "nothing can be written")
    def test_what_is_said_to_be_zero_reads_so(self):
        self.disk.zero(8 * MIB, 0)
        for offset in [MIB, 3 * MIB + blocks(1)]:
            self.disk.pwrite(noise(256 * KIB), offset)
        at = 0
        while at < 8 * MIB:
            for length, state in self.extents(8 * MIB - at, at):
                if state & nbd.STATE_ZERO:
                    self.assertEqual(self.disk.pread(length, at), bytes(length))
                at += length

    def test_refusals(self):
        wire = Wire(True, context=True)
        for flags, offset, length in [
            (0, 0, 0), (0, 1, MINIMUM), (0, 0, MINIMUM + 1), (0, SIZE, MINIMUM), (0, SIZE - MINIMUM, 2 * MINIMUM),
            (DF, 0, MINIMUM), (1 << 15, 0, MINIMUM), (0, (1 << 64) - MINIMUM, 2 * MINIMUM),
        ]:
            error = wire.ask(BLOCK_STATUS, flags, offset, length)
            self.assertEqual(error, EINVAL, f"flags {flags:#x}, {length} bytes at {offset}")
        wire.send(BLOCK_STATUS, 0, 0, SIZE)
        error, chunk = wire.answer(0)
        self.assertEqual((error, struct.unpack(">I", chunk[:4])[0]), (0, wire.context))
        wire.close()


class ReadOnly(unittest.TestCase):
    """An export that takes nothing."""

    def test_what_would_write_is_not_permitted(self):
        for structured in [False, True]:
            wire = Wire(structured)
            flags = struct.unpack(">H", wire.export[10:12])[0]
            self.assertTrue(flags & 1 << 1, "NBD_FLAG_READ_ONLY")
            for command in WRITING:
                for offset, length in [(0, MINIMUM), (SIZE - MINIMUM, MINIMUM), (0, MIB)]:
                    self.assertEqual(wire.ask(command, 0, offset, length), EPERM, COMMANDS[command])
                self.assertEqual(wire.ask(command, FUA, 0, MINIMUM), EPERM)
            self.assertEqual(wire.ask(WRITE_ZEROES, NO_HOLE | FAST_ZERO, 0, MINIMUM), EPERM)
            wire.close()

    def test_what_only_reads_is_served(self):
        disk = connect()
        self.assertTrue(disk.is_read_only())
        self.assertEqual(len(disk.pread(MAXIMUM, 0)), MAXIMUM)
        disk.cache(MIB, 0)
        disk.flush()
        disk.shutdown()
        wire = Wire(True)
        self.assertEqual(wire.ask(READ, 0, 1, MINIMUM), EINVAL)
        self.assertEqual(wire.ask(READ, 0, SIZE, MINIMUM), EINVAL)
        wire.close()


def suite():
    both = [Handshake, BlockStatus]
    classes = both + ([ReadOnly] if READ_ONLY else [SimpleReplies, StructuredReplies])
    return unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, classes))


if __name__ == "__main__":
    result = unittest.TextTestRunner(verbosity=2).run(suite())
    sys.exit(not result.wasSuccessful())
