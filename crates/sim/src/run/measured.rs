//! The measurement of a run.

use parlour_units::{Duration, Instant};
use parlour_workload::task::Ask;

use super::traffic::Traffic;
use crate::history::History;
use crate::log_tally::LogTally;
use crate::member::{Member, Tally};
use crate::paths::{Station, StationTally};
use crate::report::{Ended, Learned, MemberReport, Passed, Report, SourceReport, StationReport};
use crate::statistics::Estimate;

/// What is counted from the end of the warm-up on, of all sources together.
pub(super) struct Measured {
    began: Instant,
    warm_up: Passed,
    /// The results of all sources together, if there are several.
    all: Option<Learned>,
    history: History,
    /// The sum of response times, in nanoseconds.
    inside: u128,
    /// Requests that were answered with lost data.
    lost: u64,
    before: Before,
}

/// The counts at the beginning.
struct Before {
    area: u128,
    /// The sum of the times of the requests that were under way: only the rest of each counts.
    pending: u128,
    members: Vec<Tally>,
    stations: Vec<StationTally>,
    logs: Option<LogTally>,
}

impl Measured {
    /// Begins the measurement, of `several` sources or of one.
    pub(super) fn begin(traffic: &mut Traffic<'_>, warm_up: Passed, several: bool) -> Measured {
        let began = traffic.now();
        let before = Before {
            area: traffic.area(),
            pending: traffic.pending(),
            members: traffic.world().members().map(Member::tally).collect(),
            stations: traffic.world().stations().map(Station::tally).collect(),
            logs: traffic.world().log_tally(),
        };
        let all = several.then(|| Learned::new(began));
        Measured { began, warm_up, all, history: History::new(began), inside: 0, lost: 0, before }
    }

    /// The number of requests in the warm-up.
    pub(super) fn passed(&self) -> u64 {
        self.warm_up.requests
    }

    /// The mean response time of all sources together, if there are several.
    pub(super) fn mean(&self) -> Option<Estimate> {
        self.all.as_ref().map(Learned::mean)
    }

    /// Records the state before the event at `until`, if that is due.
    pub(super) fn record(&mut self, until: Instant, traffic: &Traffic<'_>) {
        if self.history.is_due(until) {
            self.history.record(until, traffic.world(), traffic.busy());
        }
    }

    /// Counts a request.
    pub(super) fn count(&mut self, now: Instant, ask: &Ask, time: Duration) {
        self.inside += u128::from(time.nanoseconds());
        if let Some(all) = &mut self.all {
            all.add(now, ask.kind, ask.length, time);
        }
    }

    /// Counts a request that was answered with lost data.
    pub(super) fn lose(&mut self) {
        self.lost += 1;
    }

    /// Ends the measurement.
    pub(super) fn report(
        self,
        traffic: &mut Traffic<'_>,
        ended: Ended,
        sources: Vec<SourceReport>,
    ) -> Report {
        let Measured { began, warm_up, all, history, inside, lost, before } = self;
        let (now, area) = (traffic.now(), traffic.area() - before.area);
        // Little's law, exact to the nanosecond: the sum of the times of all requests is the
        // integral of the number of requests under way.
        let little = inside + traffic.pending() - before.pending;
        assert_eq!(area, little, "requests are counted as long as they are under way");
        let span = now.since(began);
        let world = traffic.world();
        let members = before.members.iter().zip(world.members());
        let stations = before.stations.iter().zip(world.stations());
        Report {
            span,
            ended,
            warm_up,
            together: all.map(|all| all.finish(now)),
            sources,
            under_way: area as f64 / span.nanoseconds().max(1) as f64,
            members: members.map(|(before, member)| MemberReport::new(*before, member, span)).collect(),
            stations: stations.map(|(before, station)| StationReport::new(*before, station, span)).collect(),
            logs: world.log_tally().zip(before.logs).map(|(now, then)| now.since(then)),
            lost,
            history,
        }
    }
}
