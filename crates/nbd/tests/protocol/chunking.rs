//! Tests that the division of a stream into pieces makes no difference, and that no stream causes a
//! panic.

use crate::common::*;
use parlour_nbd::Event;
use proptest::prelude::*;

/// Messages of a client, mostly valid.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let any_request = (0_u16..9, 0_u16..32, any::<u64>(), 0..SIZE + 100, 0_u32..70_000).prop_map(
        |(command, flags, cookie, offset, length)| {
            let mut message = request(command, flags, cookie, offset, length);
            if command == WRITE {
                message.extend(pattern(offset, length));
            }
            message
        },
    );
    let small_write = (any::<u64>(), 0..SIZE, prop::collection::vec(any::<u8>(), 1..300))
        .prop_map(|(cookie, offset, data)| write(0, cookie, offset, &data));
    let any_option =
        (0_u32..13, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(kind, data)| option(kind, &data));
    prop_oneof![8 => any_request, 8 => small_write, 1 => any_option]
}

fn opening() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![Just(simple_opening()), Just(structured_opening()), Just(client_flags(3)), Just(Vec::new())]
}

/// Feeds a stream in pieces of these sizes; the last size is used for the rest.
fn follow(stream: &[u8], mut pieces: impl Iterator<Item = usize>) -> Dialog {
    let mut dialog = Dialog::new(terms());
    let mut rest = stream;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(pieces.next().unwrap_or(rest.len()).clamp(1, rest.len()));
        dialog.say(piece);
        rest = behind;
    }
    dialog
}

fn assert_same(one: &Dialog, other: &Dialog) {
    assert_eq!(one.output, other.output);
    assert_eq!(one.requests, other.requests);
    assert_eq!(one.end, other.end);
    assert_eq!(one.connection.in_flight(), other.connection.in_flight());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn byte_by_byte_is_the_same_as_at_once(
        opening in opening(),
        messages in prop::collection::vec(message(), 0..6),
    ) {
        let stream = [opening, messages.concat()].concat();
        assert_same(&follow(&stream, std::iter::empty()), &follow(&stream, std::iter::repeat(1)));
    }

    #[test]
    fn any_pieces_are_the_same_as_at_once(
        opening in opening(),
        messages in prop::collection::vec(message(), 0..12),
        pieces in prop::collection::vec(1_usize..5000, 1..50),
    ) {
        let stream = [opening, messages.concat()].concat();
        assert_same(&follow(&stream, std::iter::empty()), &follow(&stream, pieces.into_iter().cycle()));
    }

    #[test]
    fn garbage_never_panics_and_is_never_hoarded(
        opening in opening(),
        garbage in prop::collection::vec(any::<u8>(), 0..2000),
        pieces in prop::collection::vec(1_usize..200, 1..50),
    ) {
        let dialog = follow(&[opening, garbage].concat(), pieces.into_iter().cycle());
        let hoarded = dialog.end.is_none() && dialog.input.len() > 16 + 8192;
        prop_assert!(!hoarded);
    }

    #[test]
    fn a_message_with_flipped_bits_never_panics(
        opening in opening(),
        messages in prop::collection::vec(message(), 1..6),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..8), 1..20),
    ) {
        let mut stream = [opening, messages.concat()].concat();
        for (at, bit) in flips {
            let at = at.index(stream.len());
            stream[at] ^= 1 << bit;
        }
        let dialog = follow(&stream, std::iter::repeat(977));
        prop_assert!(!matches!(dialog.end, Some(Event::NeedInput)));
    }
}
