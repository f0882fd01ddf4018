//! The transactions of a bank, as in TPC-A (Stodolsky et al., figure 2): an account's record is
//! read, changed, and written back to its place.
//!
//! Records fill pages, which are the units of reads and writes. The tables follow one another:
//! branches, tellers, accounts, history. A transaction comes from a random teller. Its account
//! belongs to the teller's branch in 85% of cases, else to another branch. The sizes of the tables
//! follow TPC-A's scaling: a bank has as many branches as transactions per second.

use parlour_units::{Bytes, Duration, Sector, Sectors};

use crate::random::Random;
use crate::space::Space;
use crate::task::{Ask, Kind, Task};

/// A bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bank {
    /// The number of branches, which is the transactions per second that the bank is scaled for.
    pub branches: u64,
    /// The length of a page.
    pub page: Sectors,
    /// The time from the answer to the last read to the first write.
    pub thinks: Duration,
    /// Whether tellers' and branches' records are in the host's memory, as in the paper. If not,
    /// they are read and written back with the account's.
    pub cached: bool,
    /// The number of history records that are written together, each group after the one before. No
    /// transaction waits for this. With 0 there is no history.
    pub grouped: u64,
}

/// A sequence of transactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Accounts {
    bank: Bank,
    space: Space,
    tellers: Table,
    branches: Table,
    accounts: Table,
    history: Table,
    /// The number of transactions since history was written.
    unwritten: u64,
    /// The next page to write in the history table.
    next: u64,
}

/// Why a bank is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BankError {
    /// It has no branch.
    #[error("a bank has at least one branch")]
    NoBranch,
    /// The page is not a whole number of blocks, or is too long.
    #[error("a page of {page} sectors is no whole number of blocks of {block}, or longer than all there is")]
    NoPage {
        /// The page.
        page: u64,
        /// The block.
        block: u64,
    },
    /// It does not fit into the space.
    #[error("a bank of {branches} branches takes {needed} sectors, and there are {space}; make it smaller")]
    TooLarge {
        /// The number of branches.
        branches: u64,
        /// The sectors that it needs.
        needed: u64,
        /// The sectors of the space.
        space: u64,
    },
    /// The groups of history records are larger than the history.
    #[error("{grouped} history records do not fit the history, which has {records}")]
    TooMuchHistory {
        /// The records of a group.
        grouped: u64,
        /// The records of the history.
        records: u64,
    },
}

/// The pages of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Table {
    first: u64,
    pages: u64,
    /// Records per page.
    per_page: u64,
}

impl Table {
    fn after(before: u64, page: Sectors, records: u64, bytes: u64) -> Table {
        let per_page = page.bytes().get() / bytes;
        Table { first: before, pages: records.div_ceil(per_page), per_page }
    }

    fn end(&self) -> u64 {
        self.first + self.pages
    }

    fn page_of(&self, record: u64) -> u64 {
        self.first + record / self.per_page
    }
}

impl Accounts {
    const TELLERS: u64 = 10;
    const ACCOUNTS: u64 = 100_000;
    const HISTORY: u64 = 30_000;
    const LOCAL: f64 = 0.85;
    const RECORD: u64 = 100;
    const HISTORY_RECORD: u64 = 50;

    /// A bank in this space.
    pub fn new(bank: Bank, space: &Space) -> Result<Accounts, BankError> {
        let Bank { branches, page, grouped, .. } = bank;
        if branches == 0 {
            return Err(BankError::NoBranch);
        }
        if page.is_zero() || !page.is_multiple_of(space.block()) || page > space.length() {
            return Err(BankError::NoPage { page: page.get(), block: space.block().get() });
        }
        let too_large = |needed| BankError::TooLarge { branches, needed, space: space.length().get() };
        // More than any space has, and small enough not to overflow.
        if branches > 1 << 32 {
            return Err(too_large(u64::MAX));
        }
        let table = |before, records, bytes| Table::after(before, page, records * branches, bytes);
        let in_branches = table(0, 1, Accounts::RECORD);
        let tellers = table(in_branches.end(), Accounts::TELLERS, Accounts::RECORD);
        let accounts = table(tellers.end(), Accounts::ACCOUNTS, Accounts::RECORD);
        let history = table(accounts.end(), Accounts::HISTORY, Accounts::HISTORY_RECORD);
        let needed = history.end().saturating_mul(page.get());
        if needed > space.length().get() {
            return Err(too_large(needed));
        }
        let records = Accounts::HISTORY * branches;
        if grouped > records {
            return Err(BankError::TooMuchHistory { grouped, records });
        }
        let space = space.clone();
        Ok(Accounts { bank, space, tellers, branches: in_branches, accounts, history, unwritten: 0, next: 0 })
    }

    /// The part of the space that it uses.
    pub fn size(&self) -> Bytes {
        (self.bank.page * self.history.end()).bytes()
    }

    fn place(&self, page: u64, length: Sectors) -> Sector {
        self.space.fit(Sector::ZERO + self.bank.page * page, length)
    }

    /// The next transaction.
    pub(crate) fn begin(&mut self, random: &mut Random) -> Task {
        let teller = random.below(self.bank.branches * Accounts::TELLERS);
        let home = teller / Accounts::TELLERS;
        let others = self.bank.branches - 1;
        let branch = match others == 0 || random.happens(Accounts::LOCAL) {
            true => home,
            // Any branch except the teller's.
            false => (home + 1 + random.below(others)) % self.bank.branches,
        };
        let account = branch * Accounts::ACCOUNTS + random.below(Accounts::ACCOUNTS);
        let page = self.bank.page;
        let records = [
            self.place(self.accounts.page_of(account), page),
            self.place(self.tellers.page_of(teller), page),
            self.place(self.branches.page_of(home), page),
        ];
        let records = if self.bank.cached { &records[..1] } else { &records[..] };
        let task = Task::update(records, page, self.bank.thinks);
        match self.history() {
            Some(ask) => task.beside(ask),
            None => task,
        }
    }

    /// The write of history, if a group is complete.
    fn history(&mut self) -> Option<Ask> {
        self.unwritten += 1;
        if self.bank.grouped == 0 || self.unwritten < self.bank.grouped {
            return None;
        }
        self.unwritten = 0;
        let pages = self.bank.grouped.div_ceil(self.history.per_page);
        // Starts again at the beginning if the next group would not fit.
        let at = if self.next + pages > self.history.pages { 0 } else { self.next };
        self.next = at + pages;
        let length = self.bank.page * pages;
        Some(Ask { kind: Kind::Write, at: self.place(self.history.first + at, length), length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: Bank = Bank {
        branches: 10,
        page: Sectors::new(4),
        thinks: Duration::from_millis(1),
        cached: true,
        grouped: 400,
    };

    fn accounts(bank: Bank) -> Result<Accounts, BankError> {
        Accounts::new(bank, &Space::new(Sectors::new(1 << 20), Sectors::new(4)).unwrap())
    }

    /// Stodolsky et al., figure 2: 11.5 MB for each transaction per second.
    #[test]
    fn a_bank_is_as_large_as_the_benchmark_says() {
        let megabytes = accounts(BANK).unwrap().size().get() as f64 / 1e6 / 10.0;
        // A page of 2 KiB has room for 20 records of 100 bytes; the rest is empty.
        assert!((megabytes / 11.5 - 2_048.0 / 2_000.0).abs() < 0.01, "{megabytes}");
    }

    #[test]
    fn accounts_are_written_back_and_history_goes_on() {
        let (mut accounts, mut random) = (accounts(BANK).unwrap(), Random::new(1));
        let (mut local, mut history) = (0, Vec::new());
        for _ in 0..10_000 {
            let mut task = accounts.begin(&mut random);
            history.extend(task.take_beside());
            let read = task.next_ask().expect("it reads an account");
            let (after, write) = task.answered(&read, &mut random).expect("it writes it back");
            assert_eq!((after, write), (BANK.thinks, Ask { kind: Kind::Write, ..read }));
            assert_eq!(task.answered(&write, &mut random), None);
            assert!(task.is_over());
            local += u32::from(read.at.get() >= accounts.accounts.first * 4);
        }
        assert_eq!(local, 10_000);
        assert_eq!(history.len(), 25);
        assert!(history.windows(2).all(|pair| pair[1].at == pair[0].at + pair[0].length));
        assert_eq!(history[0].length, Sectors::new(40));
    }

    #[test]
    fn records_that_are_not_cached_are_updated_too() {
        let (mut accounts, mut random) = (accounts(Bank { cached: false, ..BANK }).unwrap(), Random::new(1));
        let mut task = accounts.begin(&mut random);
        let mut asked = Vec::new();
        let mut next = task.next_ask();
        while let Some(ask) = next {
            asked.push((ask.kind, ask.at));
            next = task.answered(&ask, &mut random).map(|(_, ask)| ask).or_else(|| task.next_ask());
        }
        let (reads, writes) = asked.split_at(3);
        assert!(
            reads
                .iter()
                .zip(writes)
                .all(|(read, write)| { (read.0, write.0) == (Kind::Read, Kind::Write) && read.1 == write.1 })
        );
        assert!(task.is_over());
    }

    #[test]
    fn impossible_banks_are_refused() {
        assert_eq!(accounts(Bank { branches: 0, ..BANK }), Err(BankError::NoBranch));
        assert_eq!(
            accounts(Bank { page: Sectors::new(6), ..BANK }),
            Err(BankError::NoPage { page: 6, block: 4 })
        );
        let error = accounts(Bank { branches: 100, ..BANK }).unwrap_err();
        assert!(matches!(error, BankError::TooLarge { branches: 100, .. }), "{error}");
        assert!(accounts(Bank { branches: u64::MAX, ..BANK }).is_err());
        let error = accounts(Bank { grouped: 1 << 40, ..BANK }).unwrap_err();
        assert_eq!(error, BankError::TooMuchHistory { grouped: 1 << 40, records: 300_000 });
    }
}
