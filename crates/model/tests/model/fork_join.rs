//! Compares the closed fork-join network with chains that are solved and networks that are
//! simulated, both small.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

use std::collections::BTreeMap;

use crate::common::{Drawn, Parts, count, near};
use parlour_model::fork_join::{Bus, Measures, Network, NetworkError, Phase};
use parlour_model::order::Distribution;
use parlour_model::service::Work;
use proptest::prelude::*;

fn network(disks: u32, siblings: u32, times: &Distribution, think: f64) -> Network {
    Network::new(disks, Phase::new(count(siblings), times), think).unwrap()
}

/// The requests per ms of processes that think, and then wait for one random disk; all times are
/// exponential. The chain's states are the numbers of requests at each disk; it is iterated until
/// it does not change.
fn solved(disks: usize, processes: u32, (service, think): (f64, f64)) -> f64 {
    let mut likely = BTreeMap::from([(vec![0_u32; disks], 1.0)]);
    // Shorter than the mean time in any state.
    let step = 0.2 / (disks as f64 / service + f64::from(processes) / think);
    for _ in 0..30_000 {
        let mut next: BTreeMap<Vec<u32>, f64> = BTreeMap::new();
        for (state, part) in &likely {
            let mut left = *part;
            let mut go = |disk: usize, change: i32, rate: f64| {
                if rate > 0.0 {
                    let mut other = state.clone();
                    other[disk] = other[disk].checked_add_signed(change).unwrap();
                    *next.entry(other).or_default() += part * rate * step;
                    left -= part * rate * step;
                }
            };
            let thinking = f64::from(processes - state.iter().sum::<u32>());
            for (disk, queue) in state.iter().enumerate() {
                go(disk, 1, thinking / think / disks as f64);
                go(disk, -1, if *queue > 0 { 1.0 / service } else { 0.0 });
            }
            *next.entry(state.clone()).or_default() += left;
        }
        likely = next;
    }
    let busy = |state: &Vec<u32>| state.iter().filter(|queue| **queue > 0).count() as f64;
    likely.iter().map(|(state, part)| part * busy(state) / service).sum()
}

/// Such a network has a product form, for which the model is exact.
#[test]
fn single_accesses_of_exponential_times_are_those_of_the_markov_chain() {
    let times = Distribution::exponential(8.0).unwrap();
    for (disks, processes, think) in [(1, 3, 20.0), (2, 4, 5.0), (3, 3, 30.0)] {
        let model = network(disks, 1, &times, think).with(processes).unwrap();
        let rate = solved(disks as usize, processes, (8.0, think));
        near("throughput", model.throughput, rate * 1e3, 1e-6);
        near("response", model.response, f64::from(processes) / rate - think, 1e-6);
    }
}

/// The lead of one disk over the other is uniform from −m to m, and a request is answered when the
/// disk that is behind is done: X = 2m / (2m + 1) / S, so R = (m + ½) S.
#[test]
fn two_siblings_on_two_disks_of_exponential_times_are_exact() {
    let network = network(2, 2, &Distribution::exponential(10.0).unwrap(), 0.0);
    for (processes, measures) in (1..=20).zip(network.curve()) {
        near("response", measures.response, (f64::from(processes) + 0.5) * 10.0, 1e-12);
    }
}

/// The paper's §2.3, step by step.
#[test]
fn measures_follow_the_printed_recursion() {
    let (service, deviation, think, part) = (20.0, 4.0, 30.0, 3.0 / 24.0);
    let network = network(24, 3, &Distribution::printed(service, deviation).unwrap(), think);
    let last = service + deviation * (2.0 * 3.0_f64.ln()).sqrt();
    let mut queue = 0.0;
    for (processes, measures) in (1..=40).zip(network.curve()) {
        let response = last + part * service * queue;
        let rate = f64::from(processes) / (response + think);
        queue = rate * response;
        near("R", measures.response, response, 1e-12);
        near("X", measures.throughput, rate * 1e3, 1e-12);
        near("Q", measures.queue, queue, 1e-12);
        near("utilization", measures.utilization, rate * part * service, 1e-12);
        assert_eq!(network.with(processes), Ok(measures));
    }
}

/// Processes with random disks and times, one after another in the order of their requests.
fn simulated(disks: u64, processes: usize, think: f64, time: impl Fn(&mut Drawn) -> f64) -> f64 {
    let mut drawn = Drawn(11);
    let mut free = vec![0.0_f64; disks as usize];
    let mut asks = vec![0.0_f64; processes];
    let (mut sum, rounds) = (0.0, 60_000);
    for _ in 0..rounds {
        let who = (0..processes).min_by(|a, b| asks[*a].total_cmp(&asks[*b])).unwrap();
        let (now, disk) = (asks[who], drawn.below(disks) as usize);
        free[disk] = free[disk].max(now) + time(&mut drawn);
        sum += free[disk] - now;
        asks[who] = free[disk] - think * (1.0 - drawn.part()).ln();
    }
    sum / f64::from(rounds)
}

#[test]
fn what_is_partly_served_is_waited_for_that_much_shorter() {
    let times = Distribution::uniform(15.0, 25.0).unwrap();
    for (processes, think) in [(2, 0.0), (6, 0.0), (12, 0.0), (12, 30.0), (24, 0.0)] {
        let found = simulated(12, processes, think, |drawn| 15.0 + 10.0 * drawn.part());
        let network = network(12, 1, &times, think);
        let printed = network.with(processes as u32).unwrap();
        let partly = network.partly_served().with(processes as u32).unwrap();
        near(&format!("{processes} processes that think {think} ms"), partly.response, found, 0.02);
        assert!(printed.response > found);
    }
}

fn at(network: &Network, processes: u32) -> Measures {
    network.with(processes).unwrap()
}

#[test]
fn a_string_of_one_disk_is_never_waited_for() {
    let without = network(8, 3, &Distribution::normal(20.0, 4.0).unwrap(), 10.0);
    let with = without.clone().with_bus(Bus::Strings { disks: 1, transfer: 5.0 }).unwrap();
    for processes in [1, 4, 16] {
        near("response", at(&with, processes).response, at(&without, processes).response, 1e-6);
    }
}

#[test]
fn a_bus_carries_no_more_than_it_can_and_no_less() {
    let times = Distribution::normal(20.0, 4.0).unwrap();
    let network = network(8, 4, &times, 10.0);
    let string = network.clone().with_bus(Bus::Strings { disks: 8, transfer: 12.0 }).unwrap();
    let channel = network.with_bus(Bus::Channel { transfer: 48.0 }).unwrap();
    near("string", at(&string, 60).throughput, 1e3 / 48.0, 0.002);
    near("channel", at(&channel, 60).throughput, 1e3 / 48.0, 0.002);
    assert!((1..60).all(|processes| at(&string, processes).throughput <= 1e3 / 48.0 * (1.0 + 1e-9)));
}

#[test]
fn requests_of_several_kinds_are_as_one_kind_where_they_are_alike() {
    let phase = Phase::new(count(2), &Distribution::normal(20.0, 4.0).unwrap());
    let one = Network::new(8, phase, 5.0).unwrap();
    let parts = vec![phase.visited(0.25), phase.visited(0.75)];
    let two = Network::of(8, parts, 5.0).unwrap();
    near("response", at(&two, 9).response, at(&one, 9).response, 1e-12);
}

#[test]
fn what_is_no_network_is_refused() {
    let times = Distribution::normal(20.0, 4.0).unwrap();
    let phase = Phase::new(count(3), &times);
    let refused = |disks, phase, think| Network::new(disks, phase, think).unwrap_err();
    assert_eq!(refused(2, phase, 0.0), NetworkError::Siblings { siblings: 3, disks: 2 });
    assert_eq!(
        refused(2, Phase { siblings: 0, ..phase }, 0.0),
        NetworkError::Siblings { siblings: 0, disks: 2 }
    );
    assert_eq!(refused(8, phase, -1.0), NetworkError::Time { name: "think", value: -1.0 });
    assert_eq!(refused(8, Phase { service: 0.0, ..phase }, 0.0), NetworkError::NoService);
    assert!(matches!(refused(8, Phase { service: f64::NAN, ..phase }, 0.0), NetworkError::Time { .. }));
    assert_eq!(
        refused(8, Phase { last: 19.0, ..phase }, 0.0),
        NetworkError::Last { last: 19.0, service: 20.0 }
    );
    assert_eq!(refused(8, phase.visited(-0.5), 0.0), NetworkError::Visits(-0.5));
    assert_eq!(refused(8, phase.visited(0.0), 0.0), NetworkError::NoPhase);
    let network = Network::new(8, phase, 0.0).unwrap();
    assert_eq!(network.with(0), Err(NetworkError::Processes(0)));
    assert_eq!(network.with(1_000_001), Err(NetworkError::Processes(1_000_001)));
    let bus = |disks| network.clone().with_bus(Bus::Strings { disks, transfer: 1.0 });
    assert_eq!(bus(0), Err(NetworkError::Bus { on_bus: 0, disks: 8 }));
    assert_eq!(bus(9), Err(NetworkError::Bus { on_bus: 9, disks: 8 }));
    let slow = network.clone().with_bus(Bus::Channel { transfer: f64::INFINITY });
    assert_eq!(slow, Err(NetworkError::Time { name: "transfer", value: f64::INFINITY }));
    // Siblings see the whole time of the access in service.
    assert_eq!(network.clone().partly_served().with(9), network.with(9));
}

/// Figures 3 and 4 of the paper: the more processes, the smaller the benefit of striping.
#[test]
fn striping_helps_few_processes_and_hinders_many() {
    let parts = Parts::find("hp-c2247a");
    let response = |siblings: u32, processes| {
        let service = parts.uniform(Work::Read, u64::from(1_024 / siblings));
        let phase = service.phase(count(siblings), f64::from(siblings) / 24.0);
        at(&Network::new(24, phase, 0.0).unwrap(), processes).response
    };
    assert!(response(16, 1) < response(4, 1) && response(4, 1) < response(1, 1));
    assert!(response(16, 20) > response(4, 20));
}

proptest! {
    #[test]
    fn more_processes_wait_longer_and_get_more_done_together(
        disks in 1_u32..40, part in 0.0..1.0, service in 0.1..100.0, deviation in 0.0..50.0, think in 0.0..200.0,
    ) {
        let siblings = 1 + (part * f64::from(disks - 1)) as u32;
        let network = network(disks, siblings, &Distribution::normal(service, deviation).unwrap(), think);
        let measures: Vec<Measures> = network.curve().take(30).collect();
        for pair in measures.windows(2) {
            prop_assert!(pair[1].response >= pair[0].response * (1.0 - 1e-12));
            prop_assert!(pair[1].throughput >= pair[0].throughput * (1.0 - 1e-12));
        }
        for measures in &measures {
            // Little's law, for the array and for the whole network.
            let inside = measures.throughput / 1e3 * measures.response;
            prop_assert!((inside - measures.queue).abs() < 1e-9 * (1.0 + inside));
            let all = measures.throughput / 1e3 * (measures.response + think);
            prop_assert!((all - f64::from(measures.processes)).abs() < 1e-9 * all);
        }
        let hasty = Network::new(disks, Phase::new(count(siblings), &Distribution::normal(service, deviation).unwrap()), 0.0).unwrap();
        prop_assert!(at(&hasty, 20).response >= measures[19].response * (1.0 - 1e-12));
    }
}
