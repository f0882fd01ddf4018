//! Fuzzes the handshake of the network protocol: every option gets exactly one final answer,
//! whatever its data; a violation of the protocol ends the connection; and the division of the
//! stream into pieces makes no difference.

use parlour_nbd::{Connection, Disconnect, Event, Terms};

use crate::input::Input;
use crate::terms::{SIZE, terms};
use crate::wire::{ABORT, EXPORT_NAME, GO, GREETING, Reader, option, string};

const FIXED_NEWSTYLE: u32 = 1;
const NO_ZEROES: u32 = 2;
const ACK: u32 = 1;
const SERVER: u32 = 2;
const INFO: u32 = 3;
const META_CONTEXT: u32 = 4;
const ERROR: u32 = 1 << 31;

/// The state of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Waiting,
    Transmitting,
    Finished,
    Disconnected(Disconnect),
}

#[derive(Debug, PartialEq, Eq)]
struct Dialog {
    output: Vec<u8>,
    consumed: usize,
    end: End,
}

/// Interprets the bytes as a client's stream, or as instructions to compose one.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let terms = terms(input.byte());
    let piece = usize::from(input.byte()) + 1;
    let stream = if input.coin() { compose(&mut input) } else { input.rest().to_vec() };
    let whole = converse(&terms, &stream, stream.len());
    assert_eq!(whole, converse(&terms, &stream, piece), "pieces make no difference");
    judge(&terms, &stream, &whole);
}

/// Composes client flags, then options with arbitrary data or nearly correct data.
fn compose(input: &mut Input<'_>) -> Vec<u8> {
    let mut stream = u32::from(input.byte() % 5).to_be_bytes().to_vec();
    while !input.is_empty() {
        let number = u32::from(input.byte() % 13);
        let data = match input.byte() % 4 {
            0 => Vec::new(),
            1 => {
                let count = input.below(64);
                input.take(count).to_vec()
            }
            2 => {
                let kinds = input.below(6) as u16;
                let asked = (0..kinds).flat_map(|_| u16::from(input.byte() % 5).to_be_bytes());
                [name(kinds as u8), kinds.to_be_bytes().to_vec(), asked.collect()].concat()
            }
            _ => {
                let queries = input.below(4);
                let mut data = [name(queries as u8), (queries as u32).to_be_bytes().to_vec()].concat();
                for _ in 0..queries {
                    data.extend(string(query(input)));
                }
                data
            }
        };
        stream.extend(option(number, &data));
    }
    stream
}

fn name(choice: u8) -> Vec<u8> {
    string([&b""[..], b"disk", b"other"][usize::from(choice) % 3])
}

fn query<'a>(input: &mut Input<'a>) -> &'a [u8] {
    match input.byte() % 4 {
        0 => b"base:allocation",
        1 => b"base:",
        2 => b"other:thing",
        _ => {
            let count = input.below(20);
            input.take(count)
        }
    }
}

/// Sends the stream to a connection until the handshake is over.
fn converse(terms: &Terms, stream: &[u8], piece: usize) -> Dialog {
    let mut output = Vec::new();
    let mut connection = Connection::new(terms, &mut output);
    let (mut held, mut consumed) = (Vec::new(), 0);
    let mut end = End::Waiting;
    'stream: for part in stream.chunks(piece.max(1)) {
        held.extend_from_slice(part);
        loop {
            let advance = connection.advance(terms, &held, &mut output);
            held.drain(..advance.consumed);
            consumed += advance.consumed;
            end = match advance.event {
                Event::NeedInput => break,
                Event::Handled if connection.is_transmitting() => End::Transmitting,
                Event::Handled => {
                    assert!(advance.consumed > 0, "a message has a length");
                    continue;
                }
                Event::Finished => End::Finished,
                Event::Disconnect(reason) => End::Disconnected(reason),
                event => panic!("{event:?} in a handshake"),
            };
            break 'stream;
        }
        let most = 16 + terms.limits().option_length as usize;
        assert!(held.len() < most, "input is not hoarded");
    }
    Dialog { output, consumed, end }
}

/// Checks the server's answers against the client's stream.
fn judge(terms: &Terms, stream: &[u8], dialog: &Dialog) {
    let mut answers = Reader(&dialog.output);
    assert_eq!(answers.take(18), GREETING);
    let (end, consumed) = listen(terms, stream, &mut answers);
    assert_eq!(dialog.end, end);
    assert!(answers.is_empty(), "nothing is said unasked");
    if matches!(end, End::Transmitting | End::Finished) {
        assert_eq!(dialog.consumed, consumed, "no more is taken than was meant");
    }
}

/// Returns how the handshake must end, and after how many bytes. Takes the answers that belong to
/// it.
fn listen(terms: &Terms, stream: &[u8], answers: &mut Reader<'_>) -> (End, usize) {
    let mut said = Reader(stream);
    let at = |said: &Reader<'_>| stream.len() - said.0.len();
    if stream.len() < 4 {
        return (End::Waiting, 0);
    }
    let flags = said.u32();
    if flags > FIXED_NEWSTYLE | NO_ZEROES {
        return (End::Disconnected(Disconnect::ClientFlags(flags)), 0);
    }
    for count in 0.. {
        if said.0.len() < 16 {
            break;
        }
        let (magic, number, length) = (said.u64(), said.u32(), said.u32());
        if let Some(reason) = violation(terms, flags, magic, number, length, count) {
            return (End::Disconnected(reason), 0);
        }
        if said.0.len() < length as usize {
            break;
        }
        let data = said.take(length as usize);
        if number == EXPORT_NAME {
            return (export_name(data, flags, answers), at(&said));
        }
        let acknowledged = final_answer(number, answers) == ACK;
        let short = length <= terms.limits().option_length;
        assert!(short || !acknowledged, "what is too long is not looked at");
        match number {
            ABORT if short => return (End::Finished, at(&said)),
            GO if acknowledged => return (End::Transmitting, at(&said)),
            _ => {}
        }
    }
    (End::Waiting, 0)
}

/// Returns why an option's header ends the connection, if it does.
fn violation(
    terms: &Terms,
    flags: u32,
    magic: u64,
    number: u32,
    length: u32,
    count: u32,
) -> Option<Disconnect> {
    if magic != u64::from_be_bytes(*b"IHAVEOPT") {
        Some(Disconnect::OptionMagic(magic))
    } else if flags & FIXED_NEWSTYLE == 0 && number != EXPORT_NAME {
        Some(Disconnect::NotFixedNewstyle(number))
    } else if count >= terms.limits().options {
        Some(Disconnect::TooManyOptions)
    } else if number == EXPORT_NAME && length > terms.limits().option_length {
        Some(Disconnect::UnknownExport)
    } else {
        None
    }
}

fn export_name(name: &[u8], flags: u32, answers: &mut Reader<'_>) -> End {
    if !(name.is_empty() || name == b"disk") {
        return End::Disconnected(Disconnect::UnknownExport);
    }
    assert_eq!(answers.u64(), SIZE);
    assert_eq!(answers.u16() & 1, 1, "the flags have flags");
    if flags & NO_ZEROES == 0 {
        assert_eq!(answers.take(124), [0; 124]);
    }
    End::Transmitting
}

/// Takes the answers to one option. Returns the type of the last one.
fn final_answer(number: u32, answers: &mut Reader<'_>) -> u32 {
    loop {
        assert_eq!(answers.u64(), 0x0003_e889_0455_65a9);
        assert_eq!(answers.u32(), number, "options are answered in order");
        let (kind, length) = (answers.u32(), answers.u32());
        let mut data = Reader(answers.take(length as usize));
        match kind {
            SERVER => assert_eq!(data.u32(), 4, "the length of the name"),
            INFO => match (data.u16(), data.0.len()) {
                (0, 10) | (3, 12) | (1 | 2, _) => {}
                (kind, length) => panic!("information of type {kind} has {length} bytes"),
            },
            META_CONTEXT => assert_eq!(&data.0[4..], b"base:allocation"),
            ACK => {
                assert!(data.is_empty());
                return kind;
            }
            error => {
                assert!(error & ERROR != 0, "an answer of type {error}");
                std::str::from_utf8(data.0).expect("messages are text");
                return error;
            }
        }
    }
}
