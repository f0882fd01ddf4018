//! Stripe jobs and the preread cache: old data that need not be read before it is overwritten.

use parlour_units::{Sectors, Stripe};

use crate::buffer::BufferId;
use crate::cache::Cached;
use crate::columns::Piece;
use crate::context::Context;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::plan::Content;
use crate::stripe::state::Stripes;

impl Stripes {
    /// Takes the content of the columns that a write is about to overwrite out of the cache. The
    /// buffers are held until the plan is done.
    pub(super) fn take_cached(&mut self, cx: &mut Context, id: JobId) -> Vec<Cached> {
        let mut cached = Vec::new();
        let job = cx.jobs.get_mut(id);
        let Some(Kind::Stripe(stripe_job)) = &mut job.kind else { unreachable!("a stripe job") };
        if stripe_job.purpose == Purpose::Write && cx.simulated.old_data_known {
            cached.extend(stripe_job.pieces.iter().map(Cached::known));
        } else if stripe_job.purpose == Purpose::Write && self.cache.is_on() {
            self.cache.look_up(stripe_job.window.stripe, &stripe_job.pieces, &mut cached);
            self.cache.forget(stripe_job.window.stripe, &stripe_job.pieces);
            for entry in &cached {
                cx.buffers.hold(entry.buffer);
                job.held.push(entry.buffer);
            }
            cx.counters.prereads_saved += cached.len() as u64;
        }
        cached
    }

    /// Puts the data of a finished write into the cache.
    pub(super) fn keep_written(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        if job.content != Content::Host || !self.cache.is_on() {
            return;
        }
        let job = cx.jobs.stripe(id);
        let stripe = job.window.stripe;
        let content: Vec<(Stripe, Piece)> = job.pieces.iter().map(|piece| (stripe, *piece)).collect();
        let buffer = job.payload.expect("a write has a payload");
        self.keep_content(cx, buffer, content);
    }

    /// Puts the content of a host's buffer, from `start` on, into the preread cache.
    ///
    /// The buffer is kept as a whole, and counts as a whole, even if only a part of it is cached.
    pub(crate) fn keep_content(
        &mut self,
        cx: &mut Context,
        (buffer, start): (BufferId, Sectors),
        mut content: Vec<(Stripe, Piece)>,
    ) {
        let length = cx.buffers.length(buffer);
        if !self.cache.takes(length) {
            return;
        }
        content.iter_mut().for_each(|(_, piece)| piece.host += start);
        cx.buffers.hold(buffer);
        let buffers = &mut cx.buffers;
        self.cache.keep(buffer, length, &content, |old| buffers.release(old));
    }

    /// Content that was read from, or written to, a member that is now failed may differ from what
    /// is rebuilt in its place: the cache is emptied.
    pub(crate) fn forget_cached(&mut self, cx: &mut Context) {
        let buffers = &mut cx.buffers;
        self.cache.clear(|buffer| buffers.release(buffer));
    }
}
