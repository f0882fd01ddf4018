//! Tests of the transmission phase, command by command.

use crate::common::*;
use parlour_nbd::{Disconnect, Event, Export, Extent, Features, NbdError, Request, Terms};

fn simple() -> Dialog {
    Dialog::opened(terms(), &simple_opening())
}

fn structured() -> Dialog {
    Dialog::opened(terms(), &structured_opening())
}

/// The error in the reply to a message, in both kinds of reply. The message must not cause a
/// request.
fn refusal(terms: &Terms, message: &[u8]) -> u32 {
    let mut dialog = Dialog::opened(terms.clone(), &structured_opening());
    dialog.say(message);
    let (error, cookie, text) = dialog.replies().error();
    assert_eq!(cookie, 7);
    assert!(!text.is_empty());
    assert!(dialog.requests.is_empty());
    dialog.say(&request(FLUSH, 0, 8, 0, 0));
    assert_eq!(dialog.replies().simple(), (0, 8), "the connection lives on");
    if message[7] != BLOCK_STATUS as u8 && message[5] & DF as u8 == 0 {
        let mut dialog = Dialog::opened(terms.clone(), &simple_opening());
        dialog.say(message);
        assert_eq!(dialog.replies().simple(), (error, 7));
    }
    error
}

#[test]
fn a_read_is_answered_by_a_simple_reply_or_one_chunk() {
    let mut dialog = simple();
    dialog.say(&request(READ, 0, 7, 100, 200));
    let mut replies = dialog.replies();
    assert_eq!(replies.simple(), (0, 7));
    assert_eq!(replies.0, pattern(100, 200));

    let mut dialog = structured();
    dialog.say(&request(READ, DF, 7, 100, 200));
    let (kind, cookie, payload) = dialog.replies().chunk();
    assert_eq!((kind, cookie), (1, 7));
    assert_eq!(payload, [100_u64.to_be_bytes().to_vec(), pattern(100, 200)].concat());
    assert_eq!(dialog.requests, [(Request::Read { offset: 100, length: 200 }, vec![])]);
}

#[test]
fn a_write_brings_its_payload_and_fua() {
    for (flags, fua) in [(0, false), (FUA, true)] {
        let mut dialog = structured();
        dialog.say(&write(flags, 7, 100, b"hello"));
        assert_eq!(dialog.replies().simple(), (0, 7));
        assert_eq!(dialog.requests, [(Request::Write { offset: 100, length: 5, fua }, b"hello".to_vec())]);
    }
}

#[test]
fn commands_without_data_reach_the_backend_with_their_flags() {
    let cases = [
        (request(FLUSH, 0, 7, 0, 0), Request::Flush),
        (request(FLUSH, FUA, 7, 0, 0), Request::Flush),
        (request(TRIM, FUA, 7, 1, 2), Request::Trim { offset: 1, length: 2, fua: true }),
        (request(CACHE, 0, 7, 1, 2), Request::Cache { offset: 1, length: 2 }),
        (
            request(WRITE_ZEROES, FUA | NO_HOLE | FAST_ZERO, 7, 1, 2),
            Request::WriteZeroes { offset: 1, length: 2, fua: true, no_hole: true, fast_zero: true },
        ),
        (
            request(WRITE_ZEROES, 0, 7, 0, SIZE as u32),
            Request::WriteZeroes {
                offset: 0,
                length: SIZE as u32,
                fua: false,
                no_hole: false,
                fast_zero: false,
            },
        ),
    ];
    for (message, expected) in cases {
        let mut dialog = structured();
        dialog.say(&message);
        assert_eq!(dialog.requests, [(expected, vec![])]);
        assert_eq!(dialog.replies().simple(), (0, 7));
    }
}

#[test]
fn unknown_commands_and_flags_are_invalid() {
    let terms = terms();
    for message in [
        request(8, 0, 7, 0, 512),
        request(0xffff, 0, 7, 0, 512),
        request(READ, NO_HOLE, 7, 0, 512),
        request(READ, 0x8000, 7, 0, 512),
        request(TRIM, REQ_ONE, 7, 0, 512),
        request(FLUSH, DF, 7, 0, 0),
        request(FLUSH, 0, 7, 1, 0),
        [request(WRITE, NO_HOLE, 7, 0, 4), vec![0; 4]].concat(),
    ] {
        assert_eq!(refusal(&terms, &message), 22);
    }
}

#[test]
fn df_is_invalid_without_structured_replies() {
    let mut dialog = simple();
    dialog.say(&request(READ, DF, 7, 0, 512));
    assert_eq!(dialog.replies().simple(), (22, 7));
}

#[test]
fn what_is_not_offered_is_invalid() {
    let none = Features {
        flush: false,
        fua: false,
        trim: false,
        write_zeroes: false,
        fast_zero: false,
        cache: false,
        multi_conn: false,
        rotational: false,
    };
    let terms = Terms::new(Export { features: none, ..export() }, limits()).expect("good");
    for message in [
        request(FLUSH, 0, 7, 0, 0),
        request(TRIM, 0, 7, 0, 512),
        request(CACHE, 0, 7, 0, 512),
        request(WRITE_ZEROES, 0, 7, 0, 512),
        write(FUA, 7, 0, &[0; 512]),
    ] {
        let mut dialog = Dialog::opened(terms.clone(), &simple_opening());
        dialog.say(&message);
        assert_eq!(dialog.replies().simple(), (22, 7));
        assert!(dialog.requests.is_empty());
    }
}

#[test]
fn ranges_beyond_the_end_are_invalid_and_writes_find_no_space() {
    let terms = terms();
    for (offset, length) in [(SIZE, 1), (SIZE - 1, 2), (u64::MAX, 1), (u64::MAX - 1, 512)] {
        for command in [READ, TRIM, CACHE, BLOCK_STATUS] {
            assert_eq!(refusal(&terms, &request(command, 0, 7, offset, length)), 22);
        }
        assert_eq!(refusal(&terms, &request(WRITE_ZEROES, 0, 7, offset, length)), 28);
        assert_eq!(refusal(&terms, &write(0, 7, offset, &vec![0; length as usize])), 28);
    }
}

#[test]
fn requests_of_length_zero_are_invalid() {
    for command in [READ, WRITE, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS] {
        assert_eq!(refusal(&terms(), &request(command, 0, 7, 0, 0)), 22);
    }
}

#[test]
fn requests_not_aligned_to_the_minimum_block_size_are_invalid() {
    let terms = Terms::new(Export { minimum_block: 512, ..export() }, limits()).expect("good");
    for (offset, length) in [(1, 512), (0, 511), (256, 256)] {
        for command in [READ, TRIM, CACHE, WRITE_ZEROES, BLOCK_STATUS] {
            assert_eq!(refusal(&terms, &request(command, 0, 7, offset, length)), 22);
        }
        assert_eq!(refusal(&terms, &write(0, 7, offset, &vec![0; length as usize])), 22);
    }
}

#[test]
fn too_large_payloads_are_refused_and_skipped() {
    let terms = terms();
    let length = (64 << 10) + 1;
    assert_eq!(refusal(&terms, &request(READ, 0, 7, 0, length)), 22);
    assert_eq!(refusal(&terms, &request(READ, DF, 7, 0, length)), 75);
    assert_eq!(refusal(&terms, &write(0, 7, 0, &vec![0; length as usize])), 22);
    let mut dialog = structured();
    dialog.say(&request(WRITE, 0, 7, 0, u32::MAX));
    dialog.say(&vec![0; 1 << 20]);
    assert!(dialog.input.is_empty() && dialog.output.is_empty());
}

#[test]
fn writing_to_a_read_only_export_is_not_permitted() {
    let terms = Terms::new(Export { read_only: true, ..export() }, limits()).expect("good");
    assert_eq!(refusal(&terms, &write(0, 7, 0, b"data")), 1);
    assert_eq!(refusal(&terms, &request(TRIM, 0, 7, 0, 512)), 1);
    assert_eq!(refusal(&terms, &request(WRITE_ZEROES, 0, 7, 0, 512)), 1);
}

#[test]
fn errors_of_the_backend_reach_the_client() {
    let mut dialog = structured();
    dialog.answers = false;
    dialog.say(&request(READ, 0, 7, 0, 512));
    dialog.fail(NbdError::Eio);
    let (error, cookie, text) = dialog.replies().error();
    assert_eq!((error, cookie, text.as_str()), (5, 7, "input/output error"));

    let mut dialog = simple();
    dialog.answers = false;
    dialog.say(&request(READ, 0, 7, 0, 512));
    dialog.fail(NbdError::Eshutdown);
    assert_eq!(dialog.replies().simple(), (108, 7));
}

#[test]
fn enotsup_is_said_of_fast_zeroes_only() {
    let mut dialog = simple();
    dialog.answers = false;
    dialog.say(&request(WRITE_ZEROES, FAST_ZERO, 7, 0, 512));
    dialog.say(&request(TRIM, 0, 8, 0, 512));
    dialog.fail(NbdError::Enotsup);
    dialog.fail(NbdError::Enotsup);
    let mut replies = dialog.replies();
    assert_eq!(replies.simple(), (95, 7));
    assert_eq!(replies.simple(), (22, 8));
}

/// The extents that are sent for a query of 1000 bytes.
fn status(flags: u16, extents: &[(u64, bool, bool)]) -> Vec<(u32, u32)> {
    let mut dialog = structured();
    dialog.answers = false;
    dialog.say(&request(BLOCK_STATUS, flags, 7, 24, 1000));
    let req_one = flags & REQ_ONE != 0;
    assert_eq!(dialog.requests, [(Request::BlockStatus { offset: 24, length: 1000, req_one }, vec![])]);
    let extents: Vec<_> = extents.iter().map(|&(length, hole, zero)| Extent { length, hole, zero }).collect();
    dialog.extents(&extents);
    let (kind, cookie, payload) = dialog.replies().chunk();
    assert_eq!((kind, cookie), (5, 7));
    let mut payload = Replies(payload);
    assert_eq!(payload.u32(), 1, "the metadata context ID");
    let mut sent = Vec::new();
    while !payload.is_empty() {
        sent.push((payload.u32(), payload.u32()));
    }
    sent
}

#[test]
fn block_status_sends_extents_merged_and_cut_to_the_request() {
    assert_eq!(
        status(0, &[(100, false, false), (200, true, true), (700, false, true)]),
        [(100, 0), (200, 3), (700, 2)]
    );
    assert_eq!(
        status(0, &[(100, true, true), (0, false, false), (100, true, true), (u64::MAX, false, false)]),
        [(200, 3), (800, 0)]
    );
    assert_eq!(status(0, &[(10, true, true)]), [(10, 3)]);
    assert_eq!(status(0, &[]), [(1000, 0)]);
    assert_eq!(status(REQ_ONE, &[(100, true, true), (100, true, true), (100, false, false)]), [(200, 3)]);
    let alternating: Vec<_> = (0..5000).map(|at| (1, at % 2 == 0, false)).collect();
    assert_eq!(status(0, &alternating).len(), 1000);
}

#[test]
fn block_status_without_a_context_is_invalid() {
    let mut dialog = simple();
    dialog.say(&request(BLOCK_STATUS, 0, 7, 0, 512));
    assert_eq!(dialog.replies().simple(), (22, 7));
}

#[test]
fn disc_ends_and_what_is_in_flight_is_still_answered() {
    let mut dialog = simple();
    dialog.answers = false;
    dialog.say(&[request(FLUSH, 0, 7, 0, 0), request(DISC, 0, 0, 0, 0), vec![1, 2, 3]].concat());
    assert_eq!(dialog.end, Some(Event::Finished));
    dialog.fail(NbdError::Eio);
    assert_eq!(dialog.replies().simple(), (5, 7));
    assert_eq!(dialog.connection.in_flight(), 0);
}

#[test]
fn a_bad_request_magic_disconnects() {
    let mut dialog = simple();
    dialog.say(&[0x55; 28]);
    assert_eq!(dialog.disconnect(), Some(Disconnect::RequestMagic(0x5555_5555)));
}

#[test]
fn requests_above_the_limit_wait_for_a_completion() {
    let mut dialog = simple();
    dialog.answers = false;
    (0..10).for_each(|cookie| dialog.say(&request(FLUSH, 0, cookie, 0, 0)));
    assert_eq!((dialog.requests.len(), dialog.connection.in_flight()), (8, 8));
    dialog.fail(NbdError::Eio);
    dialog.say(&[]);
    assert_eq!((dialog.requests.len(), dialog.input.len()), (9, 28));
}

#[test]
fn replies_may_come_in_any_order_and_once_each() {
    let mut dialog = simple();
    dialog.answers = false;
    dialog.say(&[request(FLUSH, 0, 7, 0, 0), request(TRIM, 0, 8, 0, 512)].concat());
    let first = dialog.pending[0];
    dialog.pending.swap(0, 1);
    dialog.fail(NbdError::Eio);
    dialog.fail(NbdError::Eio);
    assert_eq!(dialog.connection.complete(first, Ok(()), &mut dialog.output), None);
    let mut replies = dialog.replies();
    assert_eq!(replies.simple(), (5, 8));
    assert_eq!(replies.simple(), (5, 7));
    assert!(replies.is_empty());
}
