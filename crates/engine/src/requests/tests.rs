//! Tests of the order in which the array gets requests.

use super::pace::ALONE;
use super::*;
use parlour_units::Duration;

/// The data of a stripe in the tests' array, in bytes.
const STRIPE: u64 = 256 << 10;
const ZEROES: Operation = Operation::WriteZeroes { may_unmap: false, fast_only: false, durable: false };
const WRITE: Operation = Operation::Write { durable: false };

struct Rig {
    requests: Requests,
    now: Instant,
    tag: u64,
    /// Slices that the array has not completed, oldest first.
    array: VecDeque<Slice>,
}

impl Rig {
    fn new() -> Rig {
        let requests = Requests::new(sectors(STRIPE));
        Rig { requests, now: Instant::ZERO, tag: 0, array: VecDeque::new() }
    }

    /// Submits a request of `client`. Returns its tag.
    fn ask(&mut self, client: u32, operation: Operation, at: u64, length: u64) -> u64 {
        self.tag += 1;
        let (at, length) = (Sector::ZERO + sectors(at), sectors(length));
        let asked = Asked { client, tag: self.tag, operation, at, length, buffer: None };
        self.requests.push(asked, self.now);
        self.tag
    }

    /// Passes all requests to the array that may begin. Returns their positions and lengths in
    /// bytes.
    fn admit(&mut self) -> Vec<(u64, u64)> {
        let mut admitted = Vec::new();
        while let Some(slice) =
            self.requests.next_short(self.now).or_else(|| self.requests.next_long(self.now))
        {
            admitted.push((slice.at.bytes(), slice.length.bytes().get()));
            self.array.push_back(slice);
        }
        admitted
    }

    /// Completes the array's oldest slice.
    fn complete(&mut self, result: Result<(), RequestError>) {
        let slice = self.array.pop_front().expect("something is with the array");
        self.requests.complete(self.now, Completion { tag: slice.tag, result });
    }

    fn complete_all(&mut self) {
        while !self.array.is_empty() {
            self.complete(Ok(()));
        }
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    fn answers(&mut self) -> Vec<(u64, Result<(), RequestError>)> {
        std::iter::from_fn(|| self.requests.poll_answer()).map(|answer| (answer.tag, answer.result)).collect()
    }

    /// The bytes of long requests that the array has not completed.
    fn bytes_under_way(&self) -> u64 {
        let lengths = self.array.iter().map(|slice| slice.length.bytes().get());
        lengths.filter(|length| *length > 4096).sum()
    }
}

fn sectors(bytes: u64) -> Sectors {
    Sectors::new(bytes / 512)
}

#[test]
fn a_short_write_waits_for_nothing_of_another_clients_zeroes() {
    let mut rig = Rig::new();
    for _ in 0..128 {
        rig.ask(0, ZEROES, 0, 1 << 30);
    }
    rig.admit();
    assert!(rig.bytes_under_way() > ALONE / 2 && rig.bytes_under_way() <= ALONE);
    rig.ask(1, WRITE, 4096, 4096);
    assert_eq!(rig.admit(), [(4096, 4096)]);
}

#[test]
fn beside_short_requests_one_slice_of_long_ones_is_under_way_at_a_time() {
    let mut rig = Rig::new();
    rig.ask(1, WRITE, 0, 4096);
    rig.admit();
    for client in [0, 2, 3, 4] {
        rig.ask(client, ZEROES, 0, 1 << 30);
    }
    for _ in 0..20 {
        rig.admit();
        rig.complete(Ok(()));
        assert!(rig.bytes_under_way() <= STRIPE, "{}", rig.bytes_under_way());
        rig.ask(1, WRITE, 0, 4096);
        assert!(rig.admit().contains(&(0, 4096)));
    }
}

#[test]
fn more_of_long_requests_is_under_way_while_short_ones_are_as_fast_as_alone() {
    let mut rig = Rig::new();
    for _ in 0..10 {
        rig.ask(1, WRITE, 0, 4096);
        rig.admit();
        rig.pass(Duration::from_micros(100));
        rig.complete_all();
    }
    rig.ask(0, ZEROES, 0, 1 << 40);
    let mut most = 0;
    for _ in 0..400 {
        rig.ask(1, WRITE, 0, 4096);
        rig.admit();
        most = most.max(rig.bytes_under_way());
        rig.pass(Duration::from_micros(200));
        rig.complete_all();
    }
    assert!(most > ALONE / 2, "{most}");
    for _ in 0..20 {
        rig.ask(1, WRITE, 0, 4096);
        rig.admit();
        rig.pass(Duration::from_micros(400));
        rig.complete_all();
    }
    rig.admit();
    assert!(rig.bytes_under_way() <= STRIPE);
}

#[test]
fn long_requests_of_several_clients_take_turns_by_their_bytes() {
    let mut rig = Rig::new();
    rig.ask(9, WRITE, 0, 4096);
    rig.admit();
    rig.complete_all();
    for _ in 0..4 {
        rig.ask(0, ZEROES, 0, 1 << 30);
    }
    rig.ask(1, Operation::Read, 1 << 40, 1 << 20);
    let mut order = Vec::new();
    while order.iter().filter(|at| **at >= 1 << 40).count() < 4 {
        order.extend(rig.admit().into_iter().map(|(at, _)| at));
        rig.complete(Ok(()));
    }
    assert!(order.len() <= 9, "{order:?}");
    assert!(rig.answers().contains(&(6, Ok(()))));
}

#[test]
fn slices_end_where_stripes_end_and_cover_the_request_once() {
    let mut rig = Rig::new();
    rig.ask(1, WRITE, 0, 4096);
    rig.admit();
    rig.complete_all();
    let (from, to) = (STRIPE / 2, 7 * STRIPE + 512);
    let tag = rig.ask(0, ZEROES, from, to - from);
    let mut next = from;
    while next < to {
        for (at, length) in rig.admit() {
            assert_eq!(at, next);
            next += length;
            assert!(next.is_multiple_of(STRIPE) || next == to);
        }
        assert_eq!(rig.array[0].start, sectors(rig.array[0].at.bytes() - from));
        rig.complete(Ok(()));
    }
    assert_eq!(rig.answers(), [(1, Ok(())), (tag, Ok(()))]);
}

#[test]
fn after_an_error_the_rest_of_a_request_is_not_begun() {
    let mut rig = Rig::new();
    let tag = rig.ask(0, ZEROES, 0, 1 << 40);
    rig.admit();
    let begun = rig.array.len();
    rig.complete(Err(RequestError::Lost));
    assert_eq!(rig.admit(), []);
    for _ in 1..begun {
        assert_eq!(rig.answers(), []);
        rig.complete(Ok(()));
    }
    assert_eq!(rig.answers(), [(tag, Err(RequestError::Lost))]);
    assert_eq!(rig.requests.in_flight(), 0);
}

#[test]
fn what_was_not_begun_is_refused_when_the_array_stops_and_what_was_begun_ends_early() {
    let mut rig = Rig::new();
    for _ in 0..128 {
        rig.ask(0, ZEROES, 0, 1 << 40);
    }
    rig.admit();
    rig.requests.close();
    assert_eq!(rig.admit(), []);
    let refused = rig.answers();
    assert_eq!(refused.len(), 127);
    assert!(refused.iter().all(|(_, result)| *result == Err(RequestError::Stopping)));
    rig.complete_all();
    assert_eq!(rig.answers(), [(1, Err(RequestError::Stopping))]);
    let late = rig.ask(0, WRITE, 0, 4096);
    assert_eq!(rig.answers(), [(late, Err(RequestError::Stopping))]);
    assert_eq!(rig.requests.in_flight(), 0);
}

#[test]
fn whether_zeroes_are_fast_is_asked_before_anything_is_changed() {
    let fast = Operation::WriteZeroes { may_unmap: true, fast_only: true, durable: false };
    let mut rig = Rig::new();
    let tag = rig.ask(0, fast, 0, 1 << 40);
    assert_eq!((rig.admit().len(), rig.array[0].operation), (1, fast));
    rig.complete(Ok(()));
    assert!(rig.admit().len() > 1);
    let later = Operation::WriteZeroes { may_unmap: true, fast_only: false, durable: false };
    assert!(rig.array.iter().all(|slice| slice.operation == later));
    assert_eq!(rig.answers(), []);
    let mut rig = Rig::new();
    assert_eq!(rig.ask(0, fast, 0, 1 << 40), tag);
    rig.admit();
    rig.complete(Err(RequestError::NotFast));
    assert_eq!((rig.admit(), rig.answers()), (Vec::new(), vec![(tag, Err(RequestError::NotFast))]));
    let mut rig = Rig::new();
    rig.ask(0, fast, 512, 1 << 30);
    assert_eq!(rig.admit(), [(512, 1 << 30)]);
}
