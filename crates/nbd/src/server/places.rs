//! Decides which client gets a connection: limits by kind of client, by client, and on handshakes.
//!
//! The server's own user can always connect through a Unix socket: other users and TCP clients
//! cannot take the last connections. A client in its handshake has not proved to be useful, so it
//! is closed to make room for the next client of its kind.

use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::net::sockopt::socket_peercred;
use rustix::net::{SocketAddrAny, getpeername};
use rustix::process::geteuid;

use crate::export::Limits;

/// The kind and identity of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Unix socket: root, or the user as whom the server runs.
    Owner,
    /// Unix socket: another user, by number.
    User(u32),
    /// TCP: the address. For IPv6, the network of 64 bits, because one client may have all of it.
    Host(IpAddr),
}

impl Who {
    /// The client at the other end of `socket`. If it is unknown, it counts as another user.
    pub(super) fn of(socket: BorrowedFd<'_>) -> Who {
        match getpeername(socket).ok().flatten() {
            Some(address) if !is_unix(&address) => Who::Host(network(&address)),
            _ => match socket_peercred(socket) {
                Ok(credentials) if credentials.uid.is_root() || credentials.uid == geteuid() => Who::Owner,
                Ok(credentials) => Who::User(credentials.uid.as_raw()),
                Err(_) => Who::User(u32::MAX),
            },
        }
    }

    /// The priority: TCP clients are lowest, then other users, then the owner.
    fn rank(self) -> u8 {
        match self {
            Who::Host(_) => 0,
            Who::User(_) => 1,
            Who::Owner => 2,
        }
    }
}

fn is_unix(address: &SocketAddrAny) -> bool {
    address.address_family() == rustix::net::AddressFamily::UNIX
}

fn network(address: &SocketAddrAny) -> IpAddr {
    let address = std::net::SocketAddr::try_from(address.clone()).map(|address| address.ip());
    match address.map(|ip| ip.to_canonical()) {
        Ok(IpAddr::V6(ip)) => IpAddr::from((u128::from(ip) & !u128::from(u64::MAX)).to_be_bytes()),
        Ok(ip) => ip,
        Err(_) => IpAddr::from([0; 4]),
    }
}

/// An existing connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupant {
    pub(super) place: u16,
    pub(super) who: Who,
    /// When its handshake began; none if the handshake is over.
    pub(super) handshake: Option<Duration>,
}

/// The decision about a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Welcome,
    /// Accept it, and close the connection with this index.
    Instead(u16),
    Full,
}

/// Whether `who` may connect in addition to `others`.
pub(super) fn judge(limits: &Limits, who: Who, others: &[Occupant]) -> Verdict {
    let of_kind = |other: &&Occupant| other.who.rank() == who.rank();
    let of_client = |other: &&Occupant| other.who == who;
    let lower = |other: &&Occupant| other.who.rank() <= who.rank();
    let handshakes = others.iter().filter(of_kind).filter(|other| other.handshake.is_some()).count();
    if handshakes >= limits.handshakes {
        return instead(others.iter().filter(of_kind));
    }
    if who != Who::Owner && others.iter().filter(of_client).count() >= limits.per_client {
        return instead(others.iter().filter(of_client));
    }
    // Some connections are reserved for Unix sockets, and some of these for the owner.
    let reserved = match who {
        Who::Owner => 0,
        Who::User(_) => limits.reserved_for_owner,
        Who::Host(_) => limits.reserved_for_owner + limits.reserved_for_unix,
    };
    let taken = others.iter().filter(lower).count();
    if taken + reserved < limits.connections && others.len() < limits.connections {
        return Verdict::Welcome;
    }
    // The oldest handshake of the lowest kind is closed.
    let lowest = others.iter().filter(lower).filter(|other| other.handshake.is_some());
    match lowest.map(|other| other.who.rank()).min() {
        Some(rank) => instead(others.iter().filter(|other| other.who.rank() == rank)),
        None => Verdict::Full,
    }
}

/// Closes the oldest handshake, if there is one.
fn instead<'a>(others: impl Iterator<Item = &'a Occupant>) -> Verdict {
    let handshakes = others.filter_map(|other| Some((other.handshake?, other.place)));
    handshakes.min().map_or(Verdict::Full, |(_, place)| Verdict::Instead(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        connections: 10,
        per_client: 4,
        reserved_for_unix: 3,
        reserved_for_owner: 2,
        handshakes: 3,
        ..Limits::DEFAULT
    };

    fn host(number: u8) -> Who {
        Who::Host(IpAddr::from([10, 0, 0, number]))
    }

    fn idle(whos: impl IntoIterator<Item = Who>) -> Vec<Occupant> {
        let occupant = |(place, who)| Occupant { place: place as u16, who, handshake: None };
        whos.into_iter().enumerate().map(occupant).collect()
    }

    /// The `arrivals` that are accepted, if all of them stay and are idle.
    fn admitted(arrivals: impl IntoIterator<Item = Who>) -> Vec<Occupant> {
        let mut inside = Vec::new();
        for who in arrivals {
            if judge(&LIMITS, who, &inside) == Verdict::Welcome {
                inside.push(Occupant { place: inside.len() as u16, who, handshake: None });
            }
        }
        inside
    }

    #[test]
    fn one_address_or_user_has_a_share_only() {
        assert_eq!(admitted([host(1); 20]).len(), 4);
        assert_eq!(admitted([Who::User(1000); 20]).len(), 4);
        assert_eq!(admitted([Who::Owner; 20]).len(), 10);
    }

    #[test]
    fn the_last_places_are_for_unix_sockets_and_of_these_the_last_for_the_owner() {
        let hosts = admitted((0..20).map(host));
        assert_eq!(hosts.len(), 5);
        let inside = admitted((0..20).map(host).chain((0..20).map(Who::User)));
        assert_eq!(inside.len(), 8);
        assert_eq!(judge(&LIMITS, Who::Owner, &inside), Verdict::Welcome);
        // The owner's connections do not reduce those that TCP clients may have.
        let inside = admitted([Who::Owner; 4].into_iter().chain((0..20).map(host)));
        assert_eq!(inside.len(), 9);
    }

    #[test]
    fn a_handshake_makes_room_for_the_next_of_its_kind_only() {
        let mut inside = idle([Who::Owner, host(1), host(2), host(3)]);
        for (occupant, second) in inside[1..].iter_mut().zip([7, 5, 6]) {
            occupant.handshake = Some(Duration::from_secs(second));
        }
        assert_eq!(judge(&LIMITS, host(4), &inside), Verdict::Instead(2));
        assert_eq!(judge(&LIMITS, Who::User(1), &inside), Verdict::Welcome);
        inside[0].handshake = Some(Duration::ZERO);
        assert_eq!(judge(&LIMITS, host(4), &inside), Verdict::Instead(2));
    }

    #[test]
    fn where_all_is_full_a_handshake_of_the_lowest_kind_makes_room() {
        let mut inside = idle([Who::Owner; 8].into_iter().chain([Who::User(1), host(1)]));
        assert_eq!(judge(&LIMITS, Who::Owner, &inside), Verdict::Full);
        inside[0].handshake = Some(Duration::ZERO);
        inside[8].handshake = Some(Duration::from_secs(9));
        assert_eq!(judge(&LIMITS, Who::Owner, &inside), Verdict::Instead(8));
        assert_eq!(judge(&LIMITS, host(2), &inside), Verdict::Full);
    }
}
