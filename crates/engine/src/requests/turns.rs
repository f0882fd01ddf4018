//! Serves clients in turn: deficit round robin (Shreedhar and Varghese, 1995).
//!
//! Each turn of a client is worth a fixed number of bytes. A client that waits keeps what it did
//! not use. So clients that always have requests move equally many bytes, whatever the lengths of
//! their requests. A new client waits for at most one turn of each other client.

use std::collections::VecDeque;

/// The bytes of one turn.
const QUANTUM: u64 = 256 << 10;

/// Waiting requests, by client.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// By the client's number.
    clients: Vec<Client>,
    /// Clients with waiting requests. The first one has its turn.
    ring: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct Client {
    queue: VecDeque<u32>,
    /// The unused bytes of its turns.
    credit: u64,
}

impl Turns {
    /// Adds the waiting request `slot` of `client`.
    pub(super) fn push(&mut self, client: u32, slot: u32) {
        let index = client as usize;
        if index >= self.clients.len() {
            self.clients.resize_with(index + 1, Client::default);
        }
        let entry = &mut self.clients[index];
        if entry.queue.is_empty() {
            entry.credit = QUANTUM;
            self.ring.push_back(client);
        }
        entry.queue.push_back(slot);
    }

    /// The request whose turn it is. `cost` returns the cost of the next slice of a request.
    pub(super) fn first(&mut self, cost: impl Fn(u32) -> u64) -> Option<u32> {
        loop {
            let client = &mut self.clients[*self.ring.front()? as usize];
            let slot = *client.queue.front().expect("who is in the ring has something to do");
            if cost(slot) <= client.credit {
                return Some(slot);
            }
            client.credit += QUANTUM;
            self.ring.rotate_left(1);
        }
    }

    /// Takes a slice of the first request, with this cost. It is the request's last slice if
    /// `whole`.
    pub(super) fn advance(&mut self, cost: u64, whole: bool) {
        let Some(first) = self.ring.front() else { return };
        let client = &mut self.clients[*first as usize];
        client.credit = client.credit.saturating_sub(cost);
        if whole {
            client.queue.pop_front();
        }
        if client.queue.is_empty() {
            self.ring.pop_front();
        }
    }

    /// Removes the waiting request `slot` of `client`.
    pub(super) fn remove(&mut self, client: u32, slot: u32) {
        let queue = &mut self.clients[client as usize].queue;
        queue.retain(|waiting| *waiting != slot);
        if queue.is_empty() {
            self.ring.retain(|waiting| *waiting != client);
        }
    }

    /// Removes and returns all waiting requests.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = u32> {
        self.ring.clear();
        self.clients.iter_mut().flat_map(|client| client.queue.drain(..))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests whose turn it is for each of `count` slices. Slices cost `costs`, by request,
    /// and no request ever ends.
    fn order(turns: &mut Turns, costs: &[u64], count: usize) -> Vec<u32> {
        let mut order = Vec::new();
        for _ in 0..count {
            let slot = turns.first(|slot| costs[slot as usize]).expect("something waits");
            turns.advance(costs[slot as usize], false);
            order.push(slot);
        }
        order
    }

    #[test]
    fn clients_move_equally_many_bytes_whatever_the_size_of_their_requests() {
        let mut turns = Turns::default();
        turns.push(0, 0);
        turns.push(1, 1);
        let order = order(&mut turns, &[QUANTUM, QUANTUM / 64], 650);
        let long = order.iter().filter(|slot| **slot == 0).count();
        assert_eq!((long, order.len() - long), (10, 640));
        assert_eq!(order[..3], [0, 1, 1]);
    }

    #[test]
    fn who_comes_waits_for_one_turn_of_each_other() {
        let mut turns = Turns::default();
        for client in 0..3 {
            turns.push(client, client);
        }
        let costs = [QUANTUM; 4];
        assert_eq!(order(&mut turns, &costs, 4), [0, 1, 2, 0]);
        turns.push(3, 3);
        assert_eq!(order(&mut turns, &costs, 3), [1, 2, 3]);
    }

    #[test]
    fn a_piece_that_is_longer_than_a_turn_gets_its_turn_in_the_end() {
        let mut turns = Turns::default();
        turns.push(0, 0);
        turns.push(1, 1);
        let order = order(&mut turns, &[5 * QUANTUM, QUANTUM], 6);
        assert_eq!(order, [1, 1, 1, 1, 0, 1]);
    }

    #[test]
    fn who_has_nothing_to_do_saves_nothing_up() {
        let mut turns = Turns::default();
        turns.push(0, 0);
        turns.first(|_| 1);
        turns.advance(1, true);
        assert_eq!(turns.first(|_| 1), None);
        turns.push(1, 1);
        turns.push(0, 0);
        assert_eq!(order(&mut turns, &[QUANTUM, QUANTUM], 4), [1, 0, 1, 0]);
    }
}
