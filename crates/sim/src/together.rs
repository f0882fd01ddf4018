//! Accesses of one job that are under way together: those that complete sooner wait for the last
//! one (Chen et al., section 7.1.1).

use parlour_units::Instant;

use crate::member::Member;

/// The accesses under way of each job, by its number.
#[derive(Debug, Default)]
pub(crate) struct Together {
    jobs: Vec<Company>,
}

/// Accesses whose times overlap without a gap.
#[derive(Clone, Debug, Default)]
struct Company {
    under_way: u32,
    /// The members whose access is complete, and since when.
    waiting: Vec<(u16, Instant)>,
}

impl Together {
    /// An access of `job` has been issued.
    pub(crate) fn begin(&mut self, job: u32) {
        let job = job as usize;
        if job >= self.jobs.len() {
            self.jobs.resize(job + 1, Company::default());
        }
        self.jobs[job].under_way += 1;
    }

    /// An access of `job` to a member has ended. If it is the last one, the others have waited for
    /// it.
    pub(crate) fn end(&mut self, job: u32, member: u16, now: Instant, members: &mut [Member]) {
        let Company { under_way, waiting } = &mut self.jobs[job as usize];
        assert!(*under_way > 0, "what ends was handed out");
        *under_way -= 1;
        if *under_way > 0 {
            return waiting.push((member, now));
        }
        for (member, since) in waiting.drain(..) {
            members[usize::from(member)].has_waited(now.since(since));
        }
    }
}
