//! The hosts of a run: their processes and tasks, and when each sends its requests.

use parlour_units::{Duration, Instant};
use parlour_workload::random::Random;
use parlour_workload::source::{During, Source};
use parlour_workload::task::{Ask, Task};

use super::error::RunError;
use super::flow::Flow;
use super::timers::{Timers, Wake};
use super::traffic::{Traffic, UnderWay};

/// All sources of a run with their tasks.
pub(super) struct Hosts<'a> {
    flows: Vec<Flow<'a>>,
    slots: Vec<Slot>,
    free_slots: Vec<u32>,
    timers: Timers,
    /// Requests that follow an answer after a pause, until their time.
    later: Vec<(u32, Ask)>,
    free_later: Vec<u32>,
}

/// The performer of a task: a process of a closed load, or one arrival of an open load.
#[derive(Clone, Copy)]
struct Slot {
    flow: u16,
    process: u32,
    task: Option<Task>,
    began: Instant,
    bytes: u64,
}

impl<'a> Hosts<'a> {
    pub(super) fn new(sources: &'a mut [Source], random: &Random, now: Instant) -> Hosts<'a> {
        // Each source has its own random numbers, which do not depend on the other sources.
        let flow = |(number, source)| Flow::new(source, random.part(number), now);
        Hosts {
            flows: (0..).zip(sources).map(flow).collect(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            timers: Timers::default(),
            later: Vec::new(),
            free_later: Vec::new(),
        }
    }

    pub(super) fn flows(&self) -> &[Flow<'a>] {
        &self.flows
    }

    pub(super) fn flow_mut(&mut self, number: u16) -> &mut Flow<'a> {
        &mut self.flows[usize::from(number)]
    }

    pub(super) fn into_flows(self) -> Vec<Flow<'a>> {
        self.flows
    }

    /// The sources that are measured.
    pub(super) fn measured(&self) -> impl Iterator<Item = &Flow<'a>> {
        self.flows.iter().filter(|flow| flow.is_measured())
    }

    /// The warm-up ends, and with it its sources.
    pub(super) fn end_warm_up(&mut self) {
        self.flows.iter_mut().for_each(Flow::end_warm_up);
    }

    /// The measurement begins.
    pub(super) fn measure(&mut self, now: Instant) -> Result<(), RunError> {
        self.flows.iter_mut().for_each(|flow| flow.measure(now));
        self.start_those(now, |during| during == During::Measurement)
    }

    /// The run begins.
    pub(super) fn start(&mut self, now: Instant) -> Result<(), RunError> {
        self.start_those(now, |during| during != During::Measurement)
    }

    /// Schedules the first event of each process and of each open load of these sources.
    fn start_those(&mut self, now: Instant, starts: impl Fn(During) -> bool) -> Result<(), RunError> {
        for number in 0..self.flows.len() as u16 {
            if !starts(self.flows[usize::from(number)].during()) {
                continue;
            }
            match self.flow_mut(number).processes() {
                Some(processes) => (0..processes).for_each(|process| {
                    let slot = self.slot(number, process, now);
                    self.think(slot, now);
                }),
                None => self.expect_arrival(number, now)?,
            }
        }
        Ok(())
    }

    /// The time of the next event.
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Processes the next event, which is due.
    pub(super) fn wake(&mut self, traffic: &mut Traffic<'_>) -> Result<(), RunError> {
        match self.timers.pop() {
            None => {}
            Some(Wake::Begin(slot)) => {
                self.begin(slot, traffic)?;
            }
            Some(Wake::Go(slot)) => self.go(slot, traffic),
            Some(Wake::Later(index)) => {
                let (slot, ask) = self.later[index as usize];
                self.free_later.push(index);
                self.ask(self.slots[slot as usize].flow, Some(slot), ask, traffic);
            }
            Some(Wake::Arrive(flow)) => {
                let slot = self.slot(flow, 0, traffic.now());
                if self.begin(slot, traffic)? {
                    self.expect_arrival(flow, traffic.now())?;
                }
            }
        }
        Ok(())
    }

    /// Continues a task after one of its requests was answered.
    pub(super) fn follow(&mut self, answered: &UnderWay, traffic: &mut Traffic<'_>) {
        let Some(number) = answered.slot else { return };
        let (now, ask) = (traffic.now(), &answered.ask);
        let slot = &mut self.slots[number as usize];
        slot.bytes += ask.length.bytes().get();
        let flow = &mut self.flows[usize::from(slot.flow)];
        let task = slot.task.as_mut().expect("a task waits for its requests");
        if let Some((after, next)) = flow.follow(task, ask) {
            let flow = slot.flow;
            match after {
                Duration::ZERO => self.ask(flow, Some(number), next, traffic),
                after => self.ask_later(number, now + after, next),
            }
            return self.go_on(number, traffic);
        }
        if !task.is_over() {
            return self.go_on(number, traffic);
        }
        flow.count_task(now, now.since(slot.began), slot.bytes);
        slot.task = None;
        match flow.processes() {
            None => self.free_slots.push(number),
            Some(_) => self.think(number, now),
        }
    }

    fn slot(&mut self, flow: u16, process: u32, now: Instant) -> u32 {
        let slot = Slot { flow, process, task: None, began: now, bytes: 0 };
        if let Some(free) = self.free_slots.pop() {
            self.slots[free as usize] = slot;
            return free;
        }
        self.slots.push(slot);
        self.slots.len() as u32 - 1
    }

    /// A process of a closed load thinks before its next task.
    fn think(&mut self, slot: u32, now: Instant) {
        let flow = self.slots[slot as usize].flow;
        if let Some(think) = self.flow_mut(flow).think() {
            self.timers.schedule(now + think, Wake::Begin(slot));
        }
    }

    /// Schedules the next arrival of an open load.
    fn expect_arrival(&mut self, number: u16, now: Instant) -> Result<(), RunError> {
        if let Some(at) = self.flow_mut(number).next_arrival(now)? {
            self.timers.schedule(at, Wake::Arrive(number));
        }
        Ok(())
    }

    /// Begins the next task of a slot, if there is one. Returns whether there is.
    fn begin(&mut self, slot: u32, traffic: &mut Traffic<'_>) -> Result<bool, RunError> {
        let now = traffic.now();
        let Slot { flow, process, .. } = self.slots[slot as usize];
        let Some(task) = self.flow_mut(flow).next_task(process)? else {
            // This process has no further task.
            self.free_slots.push(slot);
            return Ok(false);
        };
        let thinks = task.thinks();
        let place = &mut self.slots[slot as usize];
        (place.task, place.began, place.bytes) = (Some(task), now, 0);
        match thinks {
            Duration::ZERO => self.go(slot, traffic),
            thinks => self.timers.schedule(now + thinks, Wake::Go(slot)),
        }
        Ok(true)
    }

    /// Sends the first requests of a task.
    fn go(&mut self, slot: u32, traffic: &mut Traffic<'_>) {
        let Slot { flow, task, .. } = &mut self.slots[slot as usize];
        let (flow, beside) = (*flow, task.as_mut().and_then(Task::take_beside));
        if let Some(ask) = beside {
            self.ask(flow, None, ask, traffic);
        }
        self.go_on(slot, traffic);
    }

    /// Sends all requests of a task that wait for no answer.
    fn go_on(&mut self, slot: u32, traffic: &mut Traffic<'_>) {
        loop {
            let Slot { flow, task, .. } = &mut self.slots[slot as usize];
            let flow = *flow;
            let Some(ask) = task.as_mut().and_then(Task::next_ask) else { return };
            self.ask(flow, Some(slot), ask, traffic);
        }
    }

    fn ask(&mut self, number: u16, slot: Option<u32>, ask: Ask, traffic: &mut Traffic<'_>) {
        let flow = self.flow_mut(number);
        flow.sent();
        traffic.ask(number, slot, ask, flow.is_durable());
    }

    fn ask_later(&mut self, slot: u32, at: Instant, ask: Ask) {
        let index = match self.free_later.pop() {
            Some(free) => {
                self.later[free as usize] = (slot, ask);
                free
            }
            None => {
                self.later.push((slot, ask));
                self.later.len() as u32 - 1
            }
        };
        self.timers.schedule(at, Wake::Later(index));
    }
}
