//! Measures how well update records of real data compress: old content xor new content of each
//! write, as it goes to a parity log (Stodolsky §11).
//!
//! - Transactions as TPC-B has them, in SQLite, whose pages are as long as the writes. Each commit
//!   writes the pages that it changed; with `grouped`, so many commits together.
//! - The files of this repository, from one commit to the next. Only blocks that changed count: who
//!   writes a file anew writes the others too, and their records are all zeroes.
//!
//! A record is compressed by itself, because it must be read by itself. It is stored whole where
//! that is shorter.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use parlour_codec::sector::SECTOR_BYTES;
use parlour_codec::xor::delta;
use parlour_workload::random::Random;

/// Measure how well update records compress
#[derive(Parser)]
struct Arguments {
    /// Transactions of each database
    #[arg(long, default_value_t = 1_000)]
    transactions: u64,
    /// Accounts of each database
    #[arg(long, default_value_t = 100_000)]
    accounts: u64,
    /// Commits of this repository
    #[arg(long, default_value_t = 200)]
    commits: u64,
}

/// Lengths of writes: that of the papers, and pages of databases.
const LENGTHS: [usize; 4] = [2_048, 4_096, 8_192, 16_384];
/// Commits whose pages are written together.
const GROUPS: [u64; 2] = [1, 100];
const COLUMNS: [&str; 6] = ["writes", "of", "records", "bytes that differ", "compressed", "in whole sectors"];

/// The sums over records of one kind.
#[derive(Default)]
struct Sums {
    records: u64,
    bytes: usize,
    differing: usize,
    compressed: usize,
    sectors: usize,
}

impl Sums {
    /// Adds a write, if it changes anything.
    fn add(&mut self, old: &[u8], new: &[u8]) {
        if old == new {
            return;
        }
        let mut record = vec![0; new.len()];
        delta(&mut record, old, new);
        let compressed = lz4_flex::block::compress(&record).len().min(record.len());
        self.records += 1;
        self.bytes += record.len();
        self.differing += record.iter().filter(|byte| **byte != 0).count();
        self.compressed += compressed;
        self.sectors += compressed.next_multiple_of(SECTOR_BYTES);
    }

    /// Adds what became of a file, cut into writes of `length`.
    fn add_file(&mut self, old: &[u8], new: &[u8], length: usize) {
        for (old, new) in old.chunks(length).zip(new.chunks(length)) {
            self.add(&padded(old, length), &padded(new, length));
        }
    }

    fn row(&self, of: String, length: usize) -> [String; COLUMNS.len()] {
        let part = |bytes: usize| format!("{:.1}%", bytes as f64 / self.bytes.max(1) as f64 * 100.0);
        let kib = format!("{} KiB", length / 1_024);
        let records = self.records.to_string();
        [of, kib, records, part(self.differing), part(self.compressed), part(self.sectors)]
    }
}

/// A block, with zeroes behind the end of the file.
fn padded(block: &[u8], length: usize) -> Vec<u8> {
    let mut padded = block.to_vec();
    padded.resize(length, 0);
    padded
}

fn main() {
    let arguments = Arguments::parse();
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(COLUMNS);
    for column in 1..COLUMNS.len() {
        table.column_mut(column).expect("there are six").set_cell_alignment(CellAlignment::Right);
    }
    for grouped in GROUPS {
        for length in LENGTHS {
            eprintln!("transactions, {grouped} together, pages of {length} bytes");
            let sums = transactions(&arguments, grouped, length);
            let of = match grouped {
                1 => "transactions, SQLite".to_owned(),
                several => format!("the same, {several} together"),
            };
            table.add_row(sums.row(of, length));
        }
    }
    let changes = changes(arguments.commits);
    for length in LENGTHS {
        let mut sums = Sums::default();
        changes.iter().for_each(|(old, new)| sums.add_file(old, new, length));
        table.add_row(sums.row(format!("files, {} changes", changes.len()), length));
    }
    println!("{table}");
}

/// A database that another process changes.
struct Database {
    path: PathBuf,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Database {
    fn new(path: PathBuf, page: usize) -> Database {
        let mut process = Command::new("sqlite3")
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("sqlite3 is installed");
        let input = process.stdin.take().expect("it was asked for");
        let output = BufReader::new(process.stdout.take().expect("it was asked for"));
        let mut database = Database { path, process, input, output };
        database
            .run(&format!("PRAGMA page_size = {page}; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"));
        database
    }

    /// Carries out statements, and waits until their pages are written.
    fn run(&mut self, statements: &str) {
        writeln!(self.input, "{statements}\nSELECT 'done';").expect("sqlite3 reads what it is to do");
        self.input.flush().expect("sqlite3 reads what it is to do");
        let mut line = String::new();
        while line.trim_end() != "done" {
            line.clear();
            let read = self.output.read_line(&mut line).expect("sqlite3 answers in words");
            assert!(read > 0, "sqlite3 ended early");
        }
    }

    fn content(&self) -> Vec<u8> {
        fs::read(&self.path).expect("the database is a file")
    }

    fn close(mut self) {
        drop(self.input);
        self.process.wait().expect("it was started here");
        fs::remove_file(&self.path).expect("the database is a file");
    }
}

/// A branch, ten tellers and 100,000 accounts, in rows of about 100 bytes as TPC-B asks for.
fn tables(accounts: u64, random: &mut Random) -> String {
    let mut text = "BEGIN;".to_owned();
    for (table, rows) in
        [("branch", accounts / 100_000 + 1), ("teller", accounts / 10_000 + 1), ("account", accounts)]
    {
        let _ = write!(text, "CREATE TABLE {table} (id INTEGER PRIMARY KEY, branch, balance, filler);");
        for row in 0..rows {
            let _ = write!(
                text,
                "INSERT INTO {table} VALUES ({row}, 0, {}, '{}');",
                random.below(1_000_000),
                filler(random)
            );
        }
    }
    text + "CREATE TABLE history (teller, branch, account, delta, time, filler); COMMIT;"
}

/// Letters that nobody can foresee: records must not be short only because all rows are alike.
fn filler(random: &mut Random) -> String {
    (0..5).map(|_| format!("{:016x}", random.below(u64::MAX))).collect()
}

fn transaction(number: u64, accounts: u64, random: &mut Random) -> String {
    let (account, teller) = (random.below(accounts), random.below(accounts / 10_000 + 1));
    let delta = random.below(2_000_000) as i64 - 1_000_000;
    let update = |table, id| format!("UPDATE {table} SET balance = balance + {delta} WHERE id = {id};");
    let updates = update("account", account) + &update("teller", teller) + &update("branch", 0);
    let time = 1_700_000_000 + number;
    let filler = filler(random);
    format!(
        "BEGIN; {updates} INSERT INTO history VALUES ({teller}, 0, {account}, {delta}, {time}, '{filler}'); COMMIT;"
    )
}

fn transactions(arguments: &Arguments, grouped: u64, page: usize) -> Sums {
    let path = std::env::temp_dir().join(format!("parlour-records-{}.db", std::process::id()));
    let mut random = Random::new(1);
    let mut database = Database::new(path, page);
    database.run(&tables(arguments.accounts, &mut random));
    let (mut sums, mut old) = (Sums::default(), database.content());
    for number in 0..arguments.transactions {
        database.run(&transaction(number, arguments.accounts, &mut random));
        if (number + 1).is_multiple_of(grouped) {
            let mut new = database.content();
            // (A page that is new overwrites what was never written: zeroes.)
            old.resize(new.len(), 0);
            sums.add_file(&old, &new, page);
            std::mem::swap(&mut old, &mut new);
        }
    }
    database.close();
    sums
}

/// The files that the newest commits of this repository have changed, before and after.
fn changes(commits: u64) -> Vec<(Vec<u8>, Vec<u8>)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let count = format!("-{commits}");
    let listed = Command::new("git")
        .args([
            "log",
            "--first-parent",
            "--raw",
            "--no-abbrev",
            "--no-renames",
            "--diff-filter=M",
            "--format=",
            &count,
        ])
        .current_dir(root)
        .output()
        .expect("git is installed");
    let listed = String::from_utf8_lossy(&listed.stdout);
    // Each line has the modes, then the names of both contents.
    let names = listed.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(2);
        Some((words.next()?, words.next()?))
    });
    names.map(|(old, new)| (blob(root, old), blob(root, new))).collect()
}

fn blob(root: &Path, name: &str) -> Vec<u8> {
    let mut git = Command::new("git")
        .args(["cat-file", "blob", name])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .expect("git is installed");
    let mut content = Vec::new();
    git.stdout.take().expect("it was asked for").read_to_end(&mut content).expect("git answers");
    git.wait().expect("it was started here");
    content
}
