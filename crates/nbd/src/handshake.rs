//! The handshake: client flags, then options until the client starts transmission or ends the
//! connection.

use crate::error::Disconnect;
use crate::event::{Advance, Event};
use crate::export::Terms;
use crate::negotiated::Negotiated;
use crate::reply::BASE_ALLOCATION_ID;
use crate::wire::{self, OPTION_HEADER, Reader};

const BASE: &[u8] = b"base:";
const BASE_ALLOCATION: &[u8] = b"base:allocation";

/// What follows after an option.
enum Next {
    Option,
    Transmission,
    Finished,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    ClientFlags,
    Option,
    /// The data of an option that is too long. The error is sent after it.
    Skip {
        option: u32,
        remaining: u32,
    },
}

/// The state of the handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    stage: Stage,
    fixed_newstyle: bool,
    no_zeroes: bool,
    options: u32,
    pub(crate) negotiated: Negotiated,
    /// Set once the client has chosen the export.
    pub(crate) done: bool,
}

impl Handshake {
    /// Appends the server's greeting.
    pub(crate) fn new(output: &mut Vec<u8>) -> Self {
        output.extend_from_slice(&wire::NBDMAGIC.to_be_bytes());
        output.extend_from_slice(&wire::IHAVEOPT.to_be_bytes());
        let flags = wire::NBD_FLAG_FIXED_NEWSTYLE | wire::NBD_FLAG_NO_ZEROES;
        output.extend_from_slice(&flags.to_be_bytes());
        Self {
            stage: Stage::ClientFlags,
            fixed_newstyle: false,
            no_zeroes: false,
            options: 0,
            negotiated: Negotiated::default(),
            done: false,
        }
    }

    /// Handles one message at the front of `input`.
    pub(crate) fn advance(&mut self, terms: &Terms, input: &[u8], output: &mut Vec<u8>) -> Advance {
        let advanced = match self.stage {
            Stage::ClientFlags => self.client_flags(input),
            Stage::Option => self.option(terms, input, output),
            Stage::Skip { option, remaining } => Ok(self.skip(option, remaining, input, output)),
        };
        advanced.unwrap_or_else(|reason| Advance { consumed: 0, event: Event::Disconnect(reason) })
    }

    fn client_flags(&mut self, input: &[u8]) -> Result<Advance, Disconnect> {
        let Some(flags) = Reader(input).u32() else { return Ok(Advance::NEED_INPUT) };
        if flags & !(wire::NBD_FLAG_C_FIXED_NEWSTYLE | wire::NBD_FLAG_C_NO_ZEROES) != 0 {
            return Err(Disconnect::ClientFlags(flags));
        }
        self.fixed_newstyle = flags & wire::NBD_FLAG_C_FIXED_NEWSTYLE != 0;
        self.no_zeroes = flags & wire::NBD_FLAG_C_NO_ZEROES != 0;
        self.stage = Stage::Option;
        Ok(Advance::handled(4))
    }

    fn option(&mut self, terms: &Terms, input: &[u8], output: &mut Vec<u8>) -> Result<Advance, Disconnect> {
        let mut reader = Reader(input);
        let (Some(magic), Some(option), Some(length)) = (reader.u64(), reader.u32(), reader.u32()) else {
            return Ok(Advance::NEED_INPUT);
        };
        self.check_option(terms, magic, option)?;
        if length > terms.limits().option_length {
            if option == wire::NBD_OPT_EXPORT_NAME {
                return Err(Disconnect::UnknownExport);
            }
            self.options += 1;
            self.stage = Stage::Skip { option, remaining: length };
            return Ok(Advance::handled(OPTION_HEADER));
        }
        // At most 64 KiB.
        let Some(data) = reader.0.get(..length as usize) else { return Ok(Advance::NEED_INPUT) };
        self.options += 1;
        let event = match self.haggle(terms, option, data, output)? {
            Next::Option => Event::Handled,
            Next::Finished => Event::Finished,
            Next::Transmission => {
                self.done = true;
                Event::Handled
            }
        };
        Ok(Advance { consumed: OPTION_HEADER + data.len(), event })
    }

    fn check_option(&self, terms: &Terms, magic: u64, option: u32) -> Result<(), Disconnect> {
        if magic != wire::IHAVEOPT {
            return Err(Disconnect::OptionMagic(magic));
        }
        if !self.fixed_newstyle && option != wire::NBD_OPT_EXPORT_NAME {
            return Err(Disconnect::NotFixedNewstyle(option));
        }
        if self.options >= terms.limits().options { Err(Disconnect::TooManyOptions) } else { Ok(()) }
    }

    fn skip(&mut self, option: u32, remaining: u32, input: &[u8], output: &mut Vec<u8>) -> Advance {
        if input.is_empty() {
            return Advance::NEED_INPUT;
        }
        let part = input.len().min(remaining as usize);
        // At most `remaining`.
        let remaining = remaining - part as u32;
        if remaining == 0 {
            self.stage = Stage::Option;
            let reply = if is_known(option) { wire::NBD_REP_ERR_TOO_BIG } else { wire::NBD_REP_ERR_UNSUP };
            put_reply(output, option, reply, &[]);
        } else {
            self.stage = Stage::Skip { option, remaining };
        }
        Advance::handled(part)
    }

    fn haggle(
        &mut self,
        terms: &Terms,
        option: u32,
        data: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<Next, Disconnect> {
        let reply = match option {
            wire::NBD_OPT_EXPORT_NAME => return self.export_name(terms, data, output),
            wire::NBD_OPT_ABORT => {
                put_reply(output, option, wire::NBD_REP_ACK, &[]);
                return Ok(Next::Finished);
            }
            wire::NBD_OPT_LIST => list(terms, data, output),
            wire::NBD_OPT_INFO | wire::NBD_OPT_GO => self.info(terms, option, data, output),
            wire::NBD_OPT_STRUCTURED_REPLY => self.structured_reply(data),
            wire::NBD_OPT_LIST_META_CONTEXT | wire::NBD_OPT_SET_META_CONTEXT => {
                self.meta_context(terms, option, data, output)
            }
            // NBD_OPT_STARTTLS and NBD_OPT_EXTENDED_HEADERS are among these.
            _ => Err(OptionError::Unsup),
        };
        let (kind, text) = match reply {
            Ok(()) => (wire::NBD_REP_ACK, String::new()),
            Err(error) => (error.reply(), error.to_string()),
        };
        put_reply(output, option, kind, &[text.as_bytes()]);
        let gone = option == wire::NBD_OPT_GO && reply.is_ok();
        Ok(if gone { Next::Transmission } else { Next::Option })
    }

    fn export_name(&self, terms: &Terms, name: &[u8], output: &mut Vec<u8>) -> Result<Next, Disconnect> {
        if !terms.is_named(name) {
            return Err(Disconnect::UnknownExport);
        }
        output.extend_from_slice(&terms.export().size.to_be_bytes());
        output.extend_from_slice(&self.transmission_flags(terms).to_be_bytes());
        if !self.no_zeroes {
            output.extend_from_slice(&[0; 124]);
        }
        Ok(Next::Transmission)
    }

    fn transmission_flags(&self, terms: &Terms) -> u16 {
        terms.transmission_flags(self.negotiated.structured_replies)
    }

    fn structured_reply(&mut self, data: &[u8]) -> Result<(), OptionError> {
        if !data.is_empty() {
            return Err(OptionError::Malformed);
        }
        self.negotiated.structured_replies = true;
        Ok(())
    }

    /// `NBD_OPT_INFO` and `NBD_OPT_GO`. The block sizes are always sent, even if not requested.
    fn info(&self, terms: &Terms, option: u32, data: &[u8], output: &mut Vec<u8>) -> Result<(), OptionError> {
        let mut reader = Reader(data);
        let name = reader.string().ok_or(OptionError::Malformed)?;
        let count = reader.u16().ok_or(OptionError::Malformed)?;
        if reader.0.len() != 2 * usize::from(count) {
            return Err(OptionError::Malformed);
        }
        if !terms.is_named(name) {
            return Err(OptionError::UnknownExport);
        }
        let export = terms.export();
        let mut put = |kind: u16, parts: [&[u8]; 3]| {
            put_reply(
                output,
                option,
                wire::NBD_REP_INFO,
                &[&kind.to_be_bytes(), parts[0], parts[1], parts[2]],
            );
        };
        put(
            wire::NBD_INFO_EXPORT,
            [&export.size.to_be_bytes(), &self.transmission_flags(terms).to_be_bytes(), &[]],
        );
        let [minimum, preferred, maximum] =
            [export.minimum_block, export.preferred_block, terms.limits().payload].map(u32::to_be_bytes);
        put(wire::NBD_INFO_BLOCK_SIZE, [&minimum, &preferred, &maximum]);
        // Each is sent once, even if it is requested several times.
        let asked = |kind: u16| reader.0.chunks_exact(2).any(|asked| asked == kind.to_be_bytes());
        if asked(wire::NBD_INFO_NAME) {
            put(wire::NBD_INFO_NAME, [export.name.as_bytes(), &[], &[]]);
        }
        if asked(wire::NBD_INFO_DESCRIPTION) && !export.description.is_empty() {
            put(wire::NBD_INFO_DESCRIPTION, [export.description.as_bytes(), &[], &[]]);
        }
        Ok(())
    }

    /// `NBD_OPT_LIST_META_CONTEXT` and `NBD_OPT_SET_META_CONTEXT`. An empty list of queries, or the
    /// query `base:`, lists `base:allocation` but does not select it. A query in another namespace
    /// finds nothing; one without a namespace is invalid.
    fn meta_context(
        &mut self,
        terms: &Terms,
        option: u32,
        data: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), OptionError> {
        let selects = option == wire::NBD_OPT_SET_META_CONTEXT;
        if selects {
            self.negotiated.base_allocation = false;
        }
        if !self.negotiated.structured_replies {
            return Err(OptionError::NeedsStructuredReply);
        }
        let mut reader = Reader(data);
        let name = reader.string().ok_or(OptionError::Malformed)?;
        let queries = reader.u32().ok_or(OptionError::Malformed)?;
        let mut found = !selects && queries == 0;
        for _ in 0..queries {
            let query = reader.string().ok_or(OptionError::Malformed)?;
            if !query.contains(&b':') {
                return Err(OptionError::NoNamespace);
            }
            found |= query == BASE_ALLOCATION || (!selects && query == BASE);
        }
        if !reader.0.is_empty() {
            return Err(OptionError::Malformed);
        }
        if !terms.is_named(name) {
            return Err(OptionError::UnknownExport);
        }
        if found {
            let id = if selects { BASE_ALLOCATION_ID } else { 0 };
            put_reply(output, option, wire::NBD_REP_META_CONTEXT, &[&id.to_be_bytes(), BASE_ALLOCATION]);
        }
        self.negotiated.base_allocation |= selects && found;
        Ok(())
    }
}

/// Why an option is answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum OptionError {
    #[error("option is not supported")]
    Unsup,
    #[error("option data is malformed")]
    Malformed,
    #[error("NBD_OPT_STRUCTURED_REPLY must come first")]
    NeedsStructuredReply,
    #[error("metadata context query has no namespace")]
    NoNamespace,
    #[error("no export has this name")]
    UnknownExport,
}

impl OptionError {
    fn reply(self) -> u32 {
        match self {
            Self::Unsup => wire::NBD_REP_ERR_UNSUP,
            Self::Malformed | Self::NeedsStructuredReply | Self::NoNamespace => wire::NBD_REP_ERR_INVALID,
            Self::UnknownExport => wire::NBD_REP_ERR_UNKNOWN,
        }
    }
}

fn is_known(option: u32) -> bool {
    let first = wire::NBD_OPT_EXPORT_NAME..=wire::NBD_OPT_LIST;
    let second = wire::NBD_OPT_INFO..=wire::NBD_OPT_SET_META_CONTEXT;
    first.contains(&option) || second.contains(&option)
}

fn list(terms: &Terms, data: &[u8], output: &mut Vec<u8>) -> Result<(), OptionError> {
    if !data.is_empty() {
        return Err(OptionError::Malformed);
    }
    let export = terms.export();
    // At most 4096 bytes.
    let length = (export.name.len() as u32).to_be_bytes();
    let parts: [&[u8]; 3] = [&length, export.name.as_bytes(), export.description.as_bytes()];
    put_reply(output, wire::NBD_OPT_LIST, wire::NBD_REP_SERVER, &parts);
    Ok(())
}

fn put_reply(output: &mut Vec<u8>, option: u32, kind: u32, data: &[&[u8]]) {
    let length: usize = data.iter().map(|part| part.len()).sum();
    output.extend_from_slice(&wire::OPTION_REPLY_MAGIC.to_be_bytes());
    output.extend_from_slice(&option.to_be_bytes());
    output.extend_from_slice(&kind.to_be_bytes());
    // Two strings of 4096 bytes at most.
    output.extend_from_slice(&(length as u32).to_be_bytes());
    data.iter().for_each(|part| output.extend_from_slice(part));
}
