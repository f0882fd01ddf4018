//! The state of an array as text, in the style of `zpool status`.

use parlour_units::Bytes;

use super::account::{
    Account, JournalAccount, MemberAccount, PathAccount, RatesAccount, ScrubAccount, StreamAccount, Task,
    WriteBackAccount,
};
use super::served::judge;
use super::verdict::Verdict;
use crate::console::{Columns, counted};
use crate::wording::{devices, duration};

/// The state of a served array. The verdict comes first.
pub(crate) fn served_text(account: &Account, verdict: &Verdict) -> String {
    let mut text = format!("{}\n\n", verdict.sentence);
    let mut line = |label: &str, value: &str| text += &format!("{label:>9}: {value}\n");
    line("array", &account.name);
    line("id", &account.identity);
    line("state", &brief(account));
    line("layout", &layout(account));
    line("protected", &protection(account));
    for (label, task) in
        [("rebuild", &account.rebuild), ("resync", &account.resync), ("scrub", &account.scrub)]
    {
        if let Some(task) = task {
            line(label, &progress(task));
        }
    }
    if let Some(unreadable) = unreadable(account) {
        line("unreadable", &unreadable);
    }
    if let Some(scrub) = last_scrub(account) {
        line("scrubbed", &scrub);
    }
    if let Some(log) = log(account) {
        line("log", &log);
    }
    if let Some(journal) = journal(account) {
        line("journal", &journal);
    }
    if let Some(staged) = account.write_back {
        line("staged", &staged_data(staged, account.rates));
    }
    line(
        "server",
        &format!(
            "{}, {} of memory ({} at the most)",
            account.io, account.server_memory.0, account.server_memory.1
        ),
    );
    text += &format!("\n{}", members(account));
    for (heading, lines) in [("When it was opened", &account.notes), ("Since then", &account.events)] {
        if !lines.is_empty() {
            text += &format!("\n  {heading}:\n");
            lines.iter().for_each(|line| text += &format!("    {line}\n"));
        }
    }
    text
}

/// The state and the running tasks, in one line.
pub(crate) fn brief(account: &Account) -> String {
    let mut parts = vec![judge(account, "").state.word().to_owned()];
    match account.mode.as_str() {
        "read-only" => parts.push("read-only".to_owned()),
        "stopping" | "stopped" => parts.push("stopping".to_owned()),
        _ => {}
    }
    // A resync that waits for missing members is part of their failure.
    let resync = account.resync.filter(|task| !task.stopped || account.absent().next().is_none());
    let tasks = [("rebuild", account.rebuild), ("resync", resync), ("scrub", account.scrub)];
    for (word, task) in tasks {
        let Some(task) = task else { continue };
        let left = task.left_seconds.map_or(String::new(), |left| format!(", {} left", duration(left)));
        match task.stopped {
            true => parts.push(format!("{word} stopped")),
            false => parts.push(format!("{word} {:.0}%{left}", task.percent())),
        }
    }
    parts.join(", ")
}

/// Where entries go, and the state of each stream that is used, in a line each.
fn journal(account: &Account) -> Option<String> {
    let JournalAccount { on_devices, streams } = account.journal.as_ref()?;
    let place = match (on_devices, account.journals.len()) {
        (true, count) => format!("on {}", counted(count as u64, "journal device")),
        (false, 0) => "on members".to_owned(),
        (false, _) => "on members: too few journal devices are active".to_owned(),
    };
    // (Intents are few, and of no interest here.)
    let lines = streams.iter().filter(|stream| stream.of != "intents").map(stream);
    Some(std::iter::once(place).chain(lines).collect::<Vec<_>>().join("\n           "))
}

/// What is not in its place yet, and how long that takes at the pace of the last second.
fn staged_data(WriteBackAccount { staged }: WriteBackAccount, rates: RatesAccount) -> String {
    let RatesAccount { seconds, destaged } = rates;
    let pace = match destaged.get() as f64 / seconds {
        pace if pace > 0.0 && staged.get() > 0 => {
            let left = duration(staged.get() as f64 / pace);
            format!("; {} a second are put there: {left} for all", Bytes::new(pace as u64))
        }
        _ => String::new(),
    };
    format!("{staged} acknowledged and not yet in place{pace}")
}

fn stream(stream: &StreamAccount) -> String {
    let oldest = stream.oldest_seconds.filter(|_| stream.entries > 0);
    let oldest = oldest.map_or(String::new(), |seconds| format!(", the oldest {} old", duration(seconds)));
    let group = match stream.written {
        0 => String::new(),
        written => format!("; {:.1} in an entry", stream.content as f64 / written as f64),
    };
    format!("{}: {} of {} in use{oldest}{group}", stream.of, stream.used, stream.room)
}

fn layout(account: &Account) -> String {
    let consistency = match account.log {
        Some(_) => format!(", consistency {}", account.consistency),
        None => String::new(),
    };
    format!(
        "{}{consistency}, {}, {} for data, stripe unit {}, block {}",
        account.organization,
        devices(account.members.len(), account.journals.len()),
        account.capacity,
        account.stripe_unit,
        account.block
    )
}

/// The unrecoverable data, and its stripes.
fn unreadable(account: &Account) -> Option<String> {
    const SHOWN: usize = 8;
    let stripes = &account.unreadable_stripes;
    let shown: Vec<String> = stripes.iter().take(SHOWN).map(u64::to_string).collect();
    let more = if stripes.len() > SHOWN { ", …" } else { "" };
    let place = match stripes.len() {
        1 => "in the stripe at byte",
        _ => "in the stripes at bytes",
    };
    (account.unreadable > Bytes::ZERO)
        .then(|| format!("{} cannot be recovered, {place} {}{more}", account.unreadable, shown.join(", ")))
}

/// The failures that the array survives now.
fn protection(account: &Account) -> String {
    let degraded = account.absent().next().is_some();
    let survives = match (account.fault_tolerance, account.spare_redundancy) {
        (0, _) => return "not at all: this organization keeps no redundancy".into(),
        (_, 0) => "does not survive the failure of another member".to_owned(),
        (_, count) if degraded => {
            format!("still survives the failure of {}", counted(u64::from(count), "member"))
        }
        (_, count) => format!("survives the failure of {}", counted(u64::from(count), "member")),
    };
    let unsynced = account.resync.map_or(0, |task| task.total.saturating_sub(task.done));
    match unsynced {
        0 => survives,
        _ if degraded => {
            format!("{survives} ({unsynced} of {} regions wait to be resynced)", account.regions)
        }
        _ => format!("{survives} in all but {unsynced} of {} regions", account.regions),
    }
}

/// A task's progress.
pub(crate) fn progress(task: &Task) -> String {
    let left = task.left_seconds.map_or(String::new(), |left| format!(", {} left", duration(left)));
    let state = if task.stopped { ", stopped" } else { "" };
    format!("{:.1}% ({} of {}){left}{state}", task.percent(), task.done, task.total)
}

fn last_scrub(account: &Account) -> Option<String> {
    let scrub = account.last_scrub.as_ref()?;
    Some(scrub_text(scrub, "           ").trim_end().to_owned())
}

/// The most mismatches in the text output. The JSON output has all of them.
const LISTED: usize = 8;

/// The result of a scrub. The lines after the first one are indented.
pub(crate) fn scrub_text(scrub: &ScrubAccount, indent: &str) -> String {
    let end = match (scrub.complete, scrub.cancelled) {
        (true, _) => "",
        (false, true) => ", cancelled before its end",
        (false, false) => ", broken off",
    };
    let skipped = match scrub.skipped {
        0 => String::new(),
        skipped => format!(", {skipped} skipped"),
    };
    let mut text = format!(
        "{} compared{skipped}, {} ({} repaired), {} unreadable{end}\n",
        counted(scrub.stripes, "stripe"),
        if scrub.mismatches == 1 { "1 mismatch".into() } else { format!("{} mismatches", scrub.mismatches) },
        scrub.repaired,
        scrub.unreadable
    );
    for located in &scrub.located {
        let (slot, of) = (located.slot, located.mismatches);
        text += &format!(
            "{indent}{of} of {} mismatches: all fits but the unit on member {slot}\n",
            scrub.mismatches
        );
    }
    for mismatch in scrub.listed.iter().take(LISTED) {
        let located = mismatch
            .located
            .map_or(String::new(), |slot| format!(", all fits but the unit on member {slot}"));
        let repaired = if mismatch.repaired { ", repaired" } else { "" };
        text += &format!(
            "{indent}mismatch in stripe {} (byte {}){located}{repaired}\n",
            mismatch.stripe, mismatch.at
        );
    }
    text
}

fn log(account: &Account) -> Option<String> {
    let log = account.log.filter(|log| log.buffer_limit > 0)?;
    Some(format!(
        "{} not yet in the parity, in {}; {} of {} buffers in use; {} being reintegrated",
        counted(log.live_records, "record"),
        counted(u64::from(log.regions), "region"),
        log.buffers,
        log.buffer_limit,
        counted(u64::from(log.reintegrating), "region"),
    ))
}

fn members(account: &Account) -> String {
    let shown = |path: &PathAccount| account.shown(&path.path);
    let header = ["Member", "State", "Errors", "Reads", "Read", "Writes", "Written", "Path"];
    let mut columns = Columns::new(header).right([0, 2, 3, 4, 5, 6]);
    let state = |member: &MemberAccount| match member.failing {
        true => format!("{}, failing", member.state),
        false => member.state.clone(),
    };
    let of_journal = |member: &MemberAccount| format!("journal, {}", state(member));
    let members = account.members.iter().map(|member| (member, state(member)));
    for (member, state) in members.chain(account.journals.iter().map(|one| (one, of_journal(one)))) {
        let traffic = member.all_traffic();
        columns.row([
            member.slot.to_string(),
            state,
            member.errors.to_string(),
            traffic.reads.to_string(),
            Bytes::new(traffic.read_bytes).to_string(),
            traffic.writes.to_string(),
            Bytes::new(traffic.write_bytes).to_string(),
            member.member.and_then(|number| account.path(number)).map_or("-".into(), &shown),
        ]);
    }
    for spare in &account.spares {
        let path = account.path(*spare).map_or("-".into(), &shown);
        columns.row(["-", "spare", "-", "-", "-", "-", "-", &path]);
    }
    columns.text()
}
