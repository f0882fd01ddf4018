//! Tests of the handshake, option by option.

use crate::common::*;
use parlour_nbd::{ConfigError, Disconnect, Event, Export, Limits, Terms};

fn greeted() -> Dialog {
    let mut dialog = Dialog::new(terms());
    let mut greeting = dialog.replies();
    assert_eq!(greeting.take(16), b"NBDMAGICIHAVEOPT");
    assert_eq!(greeting.u16(), 3);
    assert!(greeting.is_empty());
    dialog.say(&client_flags(3));
    assert!(dialog.replies().is_empty());
    dialog
}

/// The only reply to an option.
fn answer(dialog: &mut Dialog, kind: u32, data: &[u8]) -> u32 {
    dialog.say(&option(kind, data));
    let mut replies = dialog.replies();
    let (reply, _) = replies.option(kind);
    assert!(replies.is_empty(), "one reply only");
    reply
}

#[test]
fn unknown_client_flags_disconnect() {
    let mut dialog = Dialog::new(terms());
    dialog.say(&client_flags(4));
    assert_eq!(dialog.disconnect(), Some(Disconnect::ClientFlags(4)));
}

#[test]
fn a_bad_option_magic_disconnects() {
    let mut dialog = greeted();
    dialog.say(&[b'x'; 16]);
    assert!(matches!(dialog.disconnect(), Some(Disconnect::OptionMagic(_))));
}

#[test]
fn without_fixed_newstyle_only_export_name_is_allowed() {
    let mut dialog = Dialog::new(terms());
    dialog.say(&[client_flags(0), option(LIST, &[])].concat());
    assert_eq!(dialog.disconnect(), Some(Disconnect::NotFixedNewstyle(LIST)));
}

#[test]
fn export_name_answers_size_flags_and_zeroes() {
    for (flags, zeroes) in [(0, 124), (1, 124), (3, 0)] {
        let mut dialog = Dialog::new(terms());
        dialog.output.clear();
        dialog.say(&[client_flags(flags), option(EXPORT_NAME, b"disk")].concat());
        let mut replies = dialog.replies();
        assert_eq!(replies.u64(), SIZE);
        // All flags except READ_ONLY, ROTATIONAL and, without structured replies, DF.
        assert_eq!(replies.u16(), 0b1101_0110_1101);
        assert_eq!(replies.0, vec![0; zeroes]);
        assert!(dialog.connection.is_transmitting());
    }
}

#[test]
fn export_name_of_another_export_disconnects() {
    let mut dialog = greeted();
    dialog.say(&option(EXPORT_NAME, b"other"));
    assert_eq!(dialog.disconnect(), Some(Disconnect::UnknownExport));
}

#[test]
fn abort_is_acknowledged_and_ends() {
    let mut dialog = greeted();
    dialog.say(&option(ABORT, &[]));
    assert_eq!(dialog.replies().option(ABORT).0, ACK);
    assert_eq!(dialog.end, Some(Event::Finished));
}

#[test]
fn list_tells_the_export() {
    let mut dialog = greeted();
    dialog.say(&option(LIST, &[]));
    let mut replies = dialog.replies();
    assert_eq!(replies.option(LIST), (REP_SERVER, [string("disk"), b"for tests".to_vec()].concat()));
    assert_eq!(replies.option(LIST), (ACK, vec![]));
    assert!(replies.is_empty());
    assert_eq!(answer(&mut dialog, LIST, b"x"), ERR_INVALID);
}

#[test]
fn info_tells_export_and_block_sizes_unasked_and_the_rest_when_asked() {
    let mut dialog = greeted();
    dialog.say(&option(INFO, &info_data("", &[1, 2, 1, 99])));
    let mut replies = dialog.replies();
    let mut take = || {
        let (kind, data) = replies.option(INFO);
        (kind, Replies(data))
    };
    let (kind, mut export) = take();
    assert_eq!((kind, export.u16(), export.u64(), export.u16()), (REP_INFO, 0, SIZE, 0b1101_0110_1101));
    let (kind, mut block) = take();
    assert_eq!((kind, block.u16(), block.u32(), block.u32(), block.u32()), (REP_INFO, 3, 1, 4096, 64 << 10));
    let (kind, mut name) = take();
    assert_eq!((kind, name.u16(), name.0), (REP_INFO, 1, b"disk".to_vec()));
    let (kind, mut description) = take();
    assert_eq!((kind, description.u16(), description.0), (REP_INFO, 2, b"for tests".to_vec()));
    assert_eq!(take().0, ACK);
    assert!(replies.is_empty());
    assert!(!dialog.connection.is_transmitting());
}

#[test]
fn go_begins_transmission_and_structured_replies_offer_df() {
    let mut dialog = greeted();
    assert_eq!(answer(&mut dialog, STRUCTURED_REPLY, &[]), ACK);
    dialog.say(&option(GO, &info_data("disk", &[])));
    let mut replies = dialog.replies();
    let mut export = Replies(replies.option(GO).1);
    assert_eq!((export.u16(), export.u64(), export.u16()), (0, SIZE, 0b1101_1110_1101));
    assert!(dialog.connection.is_transmitting());
}

#[test]
fn info_and_go_refuse_what_is_malformed_or_unknown() {
    let mut dialog = greeted();
    for kind in [INFO, GO] {
        assert_eq!(answer(&mut dialog, kind, &info_data("other", &[])), ERR_UNKNOWN);
        assert_eq!(answer(&mut dialog, kind, &[]), ERR_INVALID);
        assert_eq!(answer(&mut dialog, kind, &[0xff; 8]), ERR_INVALID);
        assert_eq!(answer(&mut dialog, kind, &[info_data("", &[]), vec![0]].concat()), ERR_INVALID);
    }
    assert!(!dialog.connection.is_transmitting());
}

#[test]
fn structured_reply_takes_no_data() {
    assert_eq!(answer(&mut greeted(), STRUCTURED_REPLY, b"x"), ERR_INVALID);
}

#[test]
fn meta_contexts_need_structured_replies() {
    let mut dialog = greeted();
    assert_eq!(answer(&mut dialog, LIST_META_CONTEXT, &context_data("", &[])), ERR_INVALID);
    assert_eq!(answer(&mut dialog, SET_META_CONTEXT, &context_data("", &["base:allocation"])), ERR_INVALID);
}

/// The result of a query: the context's ID, or nothing.
fn finds(dialog: &mut Dialog, kind: u32, queries: &[&str]) -> Option<u32> {
    dialog.say(&option(kind, &context_data("disk", queries)));
    let mut replies = dialog.replies();
    let (reply, data) = replies.option(kind);
    if reply == ACK {
        return None;
    }
    assert_eq!(reply, REP_META_CONTEXT);
    let mut data = Replies(data);
    let id = data.u32();
    assert_eq!(data.0, b"base:allocation");
    assert_eq!(replies.option(kind).0, ACK);
    Some(id)
}

#[test]
fn meta_contexts_are_found_by_name_and_listed_by_namespace() {
    let mut dialog = greeted();
    answer(&mut dialog, STRUCTURED_REPLY, &[]);
    assert_eq!(finds(&mut dialog, LIST_META_CONTEXT, &[]), Some(0));
    assert_eq!(finds(&mut dialog, LIST_META_CONTEXT, &["base:"]), Some(0));
    assert_eq!(finds(&mut dialog, LIST_META_CONTEXT, &["x-other:thing"]), None);
    assert_eq!(finds(&mut dialog, LIST_META_CONTEXT, &["x-other:", "base:allocation"]), Some(0));
    assert_eq!(finds(&mut dialog, SET_META_CONTEXT, &["base:allocation", "base:allocation"]), Some(1));
    assert_eq!(finds(&mut dialog, SET_META_CONTEXT, &["base:"]), None);
    assert_eq!(finds(&mut dialog, SET_META_CONTEXT, &[]), None);
}

#[test]
fn bad_meta_context_queries_are_refused() {
    let mut dialog = greeted();
    answer(&mut dialog, STRUCTURED_REPLY, &[]);
    for kind in [LIST_META_CONTEXT, SET_META_CONTEXT] {
        assert_eq!(answer(&mut dialog, kind, &context_data("other", &[])), ERR_UNKNOWN);
        assert_eq!(answer(&mut dialog, kind, &context_data("", &[""])), ERR_INVALID);
        assert_eq!(answer(&mut dialog, kind, &context_data("", &["allocation"])), ERR_INVALID);
        assert_eq!(answer(&mut dialog, kind, &[context_data("", &[]), vec![0]].concat()), ERR_INVALID);
        assert_eq!(answer(&mut dialog, kind, &[string(""), vec![0xff; 4]].concat()), ERR_INVALID);
    }
}

#[test]
fn a_failed_set_meta_context_selects_nothing() {
    let mut dialog = greeted();
    answer(&mut dialog, STRUCTURED_REPLY, &[]);
    assert_eq!(finds(&mut dialog, SET_META_CONTEXT, &["base:allocation"]), Some(1));
    assert_eq!(answer(&mut dialog, SET_META_CONTEXT, &context_data("other", &[])), ERR_UNKNOWN);
    dialog.say(&option(GO, &info_data("", &[])));
    dialog.output.clear();
    dialog.say(&request(BLOCK_STATUS, 0, 7, 0, 512));
    assert_eq!(dialog.replies().error().0, 22);
}

#[test]
fn unsupported_options_are_skipped() {
    let mut dialog = greeted();
    for kind in [STARTTLS, EXTENDED_HEADERS, 4, 12345, u32::MAX] {
        assert_eq!(answer(&mut dialog, kind, b"whatever"), ERR_UNSUP);
    }
    assert_eq!(answer(&mut dialog, STRUCTURED_REPLY, &[]), ACK);
}

#[test]
fn overlong_options_are_skipped_without_being_kept() {
    let mut dialog = greeted();
    assert_eq!(answer(&mut dialog, 12345, &vec![0; 1 << 20]), ERR_UNSUP);
    assert_eq!(answer(&mut dialog, LIST_META_CONTEXT, &vec![0; 8193]), ERR_TOO_BIG);
    dialog.say(&option(LIST, &vec![0; 1 << 20])[..1 << 19]);
    assert!(dialog.input.is_empty());
}

#[test]
fn too_many_options_disconnect() {
    let mut dialog = greeted();
    (0..17).for_each(|_| dialog.say(&option(LIST, &[])));
    assert_eq!(dialog.disconnect(), Some(Disconnect::TooManyOptions));
}

#[test]
fn a_read_only_export_says_so_and_offers_no_writing() {
    let export = Export { read_only: true, ..export() };
    let mut dialog = Dialog::new(Terms::new(export, limits()).expect("good"));
    dialog.output.clear();
    dialog.say(&[client_flags(3), option(EXPORT_NAME, b"")].concat());
    let mut replies = dialog.replies();
    replies.u64();
    assert_eq!(replies.u16(), 0b0101_0000_1111);
}

#[test]
fn bad_terms_are_refused_by_name() {
    let refused = |export: Export, limits: Limits| Terms::new(export, limits).expect_err("bad terms");
    let with = |change: fn(&mut Export)| {
        let mut export = export();
        change(&mut export);
        export
    };
    assert_eq!(refused(with(|export| export.minimum_block = 3), limits()), ConfigError::MinimumBlock(3));
    assert_eq!(
        refused(with(|export| export.preferred_block = 256), limits()),
        ConfigError::PreferredBlock(256)
    );
    assert_eq!(
        refused(with(|export| (export.minimum_block, export.size) = (512, 513)), limits()),
        ConfigError::Size(513)
    );
    assert_eq!(refused(with(|export| export.name = "\0".into()), limits()), ConfigError::BadString);
    assert_eq!(refused(export(), Limits { payload: 1, ..limits() }), ConfigError::Payload(1));
    assert_eq!(refused(export(), Limits { option_length: 1, ..limits() }), ConfigError::OptionLength(1));
    assert_eq!(refused(export(), Limits { in_flight: 0, ..limits() }), ConfigError::Count);
}
