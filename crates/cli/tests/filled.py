"""Fills an array with blocks of one byte, a block here and there, flushes, and reads them; or reads them only."""

import sys

import nbd

PIECE = 1 << 16
STRIDE = 1 << 18


def main(socket, byte, only_read):
    h = nbd.NBD()
    h.connect_unix(socket)
    piece = bytes([byte]) * PIECE
    places = range(0, min(h.get_size() - PIECE, 64 * STRIDE), STRIDE)
    if not only_read:
        for place in places:
            h.pwrite(piece, place)
        h.flush()
    for place in places:
        assert h.pread(PIECE, place) == piece, f"what is read at {place} is not what was written"
    h.shutdown()


main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["read"])
