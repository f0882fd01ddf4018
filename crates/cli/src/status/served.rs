//! The verdict on a served array, from its server's status.

use parlour_units::Bytes;

use super::account::{Account, MemberAccount, Task};
use super::verdict::{Finding, Health, Verdict};
use crate::console::counted;
use crate::wording::duration;

/// The verdict on a served array. `naming` is the option that names the array in commands.
pub(crate) fn judge(account: &Account, naming: &str) -> Verdict {
    let findings = [
        too_much_failed(account, naming),
        no_space(account, naming),
        read_wrong(account, naming),
        unreadable(account, naming),
        mismatches(account, naming),
        stopped_rebuild(account, naming),
        absent(account, naming),
        failing(account, naming),
        journals(account, naming),
        out_of_sync(account, naming),
    ];
    let well = match account.mode.as_str() {
        "read-only" => format!("served for reading only; {}", well(account)),
        "stopping" | "stopped" => format!("being stopped; {}", well(account)),
        _ => well(account),
    };
    Verdict::from_findings(findings.into_iter().flatten().collect(), &well)
}

/// The text if nothing is wrong.
fn well(account: &Account) -> String {
    let members = match account.members.len() {
        1 => "its member is active".to_owned(),
        count => format!("all {count} members are active"),
    };
    let errors: u64 = account.members.iter().map(|member| u64::from(member.errors)).sum();
    let repaired = match errors {
        0 => String::new(),
        errors => format!("; {} were repaired", counted(errors, "read error")),
    };
    let journals = match account.journals.len() {
        0 => String::new(),
        1 => ", and so is 1 journal device".to_owned(),
        count => format!(", and so are {count} journal devices"),
    };
    format!("{members}{journals}{}{repaired}", survives(account))
}

fn survives(account: &Account) -> String {
    match account.spare_redundancy {
        0 => ", and the loss of any of them loses data: this organization keeps no redundancy".to_owned(),
        1 => ", and the array survives the failure of any one of them".to_owned(),
        count => format!(", and the array survives the failure of any {count} of them"),
    }
}

/// Members with many recent read errors. They still serve, but may fail soon.
fn failing(account: &Account, naming: &str) -> Option<Finding> {
    let failing: Vec<u16> =
        account.members.iter().filter(|member| member.failing).map(|member| member.slot).collect();
    let first = failing.first()?;
    let names: Vec<String> = failing.iter().map(|slot| format!("member {slot}")).collect();
    let reason = format!("{} had many read errors of late", names.join(" and "));
    let remedy = format!("replace it before it dies ('parlour replace {first} PATH{naming}')");
    Some(Finding { health: Health::Degraded, reason, remedy: Some(remedy) })
}

fn too_much_failed(account: &Account, naming: &str) -> Option<Finding> {
    account.lost.then(|| Finding {
        health: Health::AtRisk,
        reason: format!("data is lost, because {}, more than the array survives", absence(account)),
        remedy: Some(format!("restore from a backup what 'parlour lost{naming}' lists")),
    })
}

fn no_space(account: &Account, naming: &str) -> Option<Finding> {
    account.counters.out_of_space.then(|| Finding {
        health: Health::AtRisk,
        reason: "it can only be read, because there is no space left beneath a member".to_owned(),
        remedy: Some(format!(
            "free space there, then stop the array ('parlour stop{naming}') and serve it again"
        )),
    })
}

fn read_wrong(account: &Account, naming: &str) -> Option<Finding> {
    let absent = account.absent().next().map_or(0, |member| member.slot);
    (account.doubtful_regions > 0).then(|| Finding {
        health: Health::AtRisk,
        reason: format!(
            "{} of {} may read wrong, because they were not in sync when a member was lost",
            account.doubtful_regions,
            counted(u64::from(account.regions), "region")
        ),
        remedy: Some(format!(
            "bring the lost member back ('parlour replace {absent} ITS-PATH{naming}'), or restore from a backup"
        )),
    })
}

fn unreadable(account: &Account, naming: &str) -> Option<Finding> {
    (account.unreadable > Bytes::ZERO).then(|| Finding {
        health: Health::AtRisk,
        reason: format!("{} cannot be recovered", account.unreadable),
        remedy: Some(format!(
            "restore that from a backup ('parlour status{naming}' shows where): writing to it makes it readable"
        )),
    })
}

fn mismatches(account: &Account, naming: &str) -> Option<Finding> {
    let scrub = account.last_scrub.as_ref()?;
    let left = scrub.mismatches.saturating_sub(scrub.repaired);
    if left == 0 && scrub.unreadable == 0 {
        return None;
    }
    let reason = match (left, scrub.unreadable) {
        (0, unreadable) => {
            format!("the last scrub could not read {unreadable} places")
        }
        (left, 0) => format!("the last scrub found {left} places where redundancy does not fit the data"),
        (left, unreadable) => format!(
            "the last scrub found {left} places where redundancy does not fit the data, and {unreadable} that it could not \
             read"
        ),
    };
    let remedy = match left {
        0 => "replace the member that has errors".to_owned(),
        _ => format!(
            "find out which side is right; 'parlour scrub --repair HOW{naming}' makes the redundancy fit"
        ),
    };
    Some(Finding { health: Health::AtRisk, reason, remedy: Some(remedy) })
}

fn stopped_rebuild(account: &Account, naming: &str) -> Option<Finding> {
    account.rebuild.filter(|task| task.stopped).map(|task| Finding {
        health: Health::AtRisk,
        reason: format!(
            "the rebuild stopped at {:.0}%, because something that it needs cannot be read",
            task.percent()
        ),
        remedy: Some(format!("'parlour status{naming}' shows where; then 'parlour rebuild{naming}' goes on")),
    })
}

/// Members that are failed, missing or not yet rebuilt.
fn absent(account: &Account, naming: &str) -> Option<Finding> {
    if account.lost || account.absent().next().is_none() {
        return None;
    }
    let risk = match account.spare_redundancy {
        0 => "; no data is lost, but the failure of another member could lose some".to_owned(),
        count => format!(
            "; no data is lost, and the array still survives the failure of {}",
            counted(u64::from(count), "member")
        ),
    };
    Some(Finding {
        health: Health::Degraded,
        reason: absence(account) + &risk,
        remedy: replacement(account, naming),
    })
}

/// The remedy for failed members, unless a rebuild is running.
fn replacement(account: &Account, naming: &str) -> Option<String> {
    let failed = account.members.iter().find(|member| member.state == "failed")?;
    if account.rebuild.is_some_and(|task| !task.stopped) {
        return None;
    }
    if !account.spares.is_empty() {
        return Some(format!("rebuild onto the spare with 'parlour rebuild{naming}'"));
    }
    let slot = failed.slot;
    let back = match (failed.may_return, failed.in_spare_room) {
        (true, _) => " (if it comes back itself, only what it has missed is rebuilt)",
        (false, true) => ", which frees the spare room for the next one that fails",
        (false, false) => "",
    };
    Some(format!("replace it with 'parlour replace {slot} NEW-MEMBER{naming}'{back}"))
}

/// The members that are not active, such as `member 1 (b) has failed, and member 2 (d) is being
/// rebuilt (43%, 2 min 10 s left)`.
fn absence(account: &Account) -> String {
    let name = |member: &MemberAccount| {
        let path = member.member.and_then(|number| account.path(number));
        path.map_or(format!("member {}", member.slot), |path| {
            format!("member {} ({})", member.slot, account.shown(&path.path))
        })
    };
    let mut parts = Vec::new();
    for member in account.absent() {
        let state = match (member.state.as_str(), member.member) {
            ("rebuilding", _) => format!("{} is being rebuilt{}", name(member), progress(account.rebuild)),
            (_, None) => format!("{} is missing", name(member)),
            _ => format!("{} has failed", name(member)),
        };
        let moved = match (member.moving, member.in_spare_room) {
            (true, _) => format!(
                ", what it held is being rebuilt into spare room on the others{}",
                progress(account.rebuild)
            ),
            (false, true) if member.state == "failed" => {
                ", what it held is in spare room on the others".to_owned()
            }
            (false, _) => String::new(),
        };
        parts.push(state + &moved);
    }
    parts.join(", and ")
}

fn progress(task: Option<Task>) -> String {
    let Some(task) = task.filter(|task| !task.stopped) else { return String::new() };
    let left = task.left_seconds.map_or(String::new(), |left| format!(", {} left", duration(left)));
    format!(" ({:.0}%{left})", task.percent())
}

/// Journal devices that are not active. No data is on them.
fn journals(account: &Account, naming: &str) -> Option<Finding> {
    let absent: Vec<&MemberAccount> =
        account.journals.iter().filter(|journal| journal.state != "active").collect();
    let failed = absent.iter().find(|journal| journal.state == "failed");
    absent.first()?;
    let names: Vec<String> = absent.iter().map(|journal| format!("{}", journal.slot)).collect();
    let (devices, are) = if absent.len() == 1 { ("device", "is") } else { ("devices", "are") };
    let members = match account.journal.as_ref().is_some_and(|journal| journal.on_devices) {
        true => "the others take the entries",
        false => "members take the entries, and the array is slower",
    };
    Some(Finding {
        health: Health::Degraded,
        reason: format!(
            "journal {devices} {} {are} not active: no data is lost, {members}",
            names.join(", ")
        ),
        remedy: failed.map(|MemberAccount { slot, .. }| {
            format!(
                "replace it with 'parlour replace {slot} NEW-DEVICE{naming}', or do without it for good with 'parlour remove \
                 {slot}{naming}'"
            )
        }),
    })
}

/// Regions that must be resynced while all members are active. A resync that waits for missing
/// members is not a separate finding.
fn out_of_sync(account: &Account, naming: &str) -> Option<Finding> {
    let task = account.resync.filter(|_| account.absent().next().is_none())?;
    let regions = counted(task.total.saturating_sub(task.done), "region");
    let (reason, remedy) = match task.stopped {
        true => (
            format!("{regions} could not be resynced, because something in them cannot be read"),
            Some(format!("'parlour scrub{naming}' finds where")),
        ),
        false => (
            format!(
                "{regions} are being resynced{}; until then they may not survive the failure of a member",
                progress(Some(task))
            ),
            None,
        ),
    };
    Some(Finding { health: Health::Degraded, reason, remedy })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    type Change = fn(&mut Value);

    /// The status of a healthy served array of four members.
    fn account() -> Value {
        let member = |slot: u16| json!({ "slot": slot, "member": slot, "state": "active", "may_return": false, "errors": 0, "failing": false, "traffic": [] });
        let path = |member: u16| json!({ "member": member, "path": format!("m{member}") });
        json!({
            "name": "home", "identity": "0", "mode": "serving", "organization": "raid5", "consistency": "bitmap",
            "capacity": 1, "block": 512, "stripe_unit": 512, "spare_redundancy": 1, "fault_tolerance": 1, "lost": false,
            "members": (0..4).map(member).collect::<Vec<_>>(), "spares": [], "rebuild": null, "resync": null,
            "unreadable": 0, "unreadable_stripes": [], "scrub": null, "last_scrub": null, "regions": 85,
            "dirty_regions": 78, "doubtful_regions": 0, "log": null, "counters": { "out_of_space": false },
            "paths": (0..4).map(path).collect::<Vec<_>>(), "directory": "", "notes": [], "events": [],
            "io": "threads", "server_memory": [0, 0],
        })
    }

    fn verdict(change: impl FnOnce(&mut Value)) -> Verdict {
        let mut account = account();
        change(&mut account);
        judge(&Account::parse(&account).unwrap(), " --array x")
    }

    /// The result of a scrub that has repaired one mismatch.
    fn found(mismatches: u64, unreadable: u64) -> Value {
        json!({
            "stripes": 9, "skipped": 0, "mismatches": mismatches, "repaired": 1, "unreadable": unreadable,
            "listed": [], "complete": true, "cancelled": false,
        })
    }

    fn task(done: u64, stopped: bool) -> Value {
        json!({ "done": done, "total": 100, "left_seconds": 130.0, "stopped": stopped })
    }

    #[test]
    fn an_idle_array_with_dirty_regions_is_healthy() {
        let verdict = verdict(|_| {});
        assert_eq!((verdict.state, &verdict.reasons[..]), (Health::Healthy, &[][..]));
        assert_eq!(
            verdict.sentence,
            "Healthy: all 4 members are active, and the array survives the failure of any one of them."
        );
    }

    #[test]
    fn a_failed_member_is_named_with_the_risk_and_the_command_that_helps() {
        let verdict = verdict(|account| {
            account["members"][1]["state"] = "failed".into();
            account["spare_redundancy"] = 0.into();
            // `fail` leaves regions of parity logs that are resynced after the rebuild.
            account["resync"] = task(0, true);
        });
        assert_eq!(verdict.state, Health::Degraded);
        assert_eq!(
            verdict.sentence,
            "Degraded: member 1 (m1) has failed; no data is lost, but the failure of another member could lose some; \
             replace it with 'parlour replace 1 NEW-MEMBER --array x'."
        );
    }

    #[test]
    fn a_rebuild_is_told_with_its_progress_and_asks_for_nothing() {
        let verdict = verdict(|account| {
            account["members"][2]["state"] = "rebuilding".into();
            account["spare_redundancy"] = 0.into();
            account["rebuild"] = task(43, false);
        });
        assert_eq!((verdict.state, &verdict.remedy), (Health::Degraded, &None));
        let told = "member 2 (m2) is being rebuilt (43%, 2 min 10 s left)";
        assert!(verdict.sentence.contains(told), "{}", verdict.sentence);
    }

    #[test]
    fn what_is_lost_wrong_or_not_to_be_written_is_at_risk_and_comes_first() {
        let failed = |account: &mut Value| account["members"][0]["state"] = "failed".into();
        let cases: [(&str, Change); 7] = [
            ("data is lost", |account| account["lost"] = true.into()),
            ("it can only be read", |account| account["counters"]["out_of_space"] = true.into()),
            ("7 of 85 regions may read wrong", |account| account["doubtful_regions"] = 7.into()),
            ("4 KiB cannot be recovered", |account| account["unreadable"] = 4096.into()),
            ("found 2 places", |account| account["last_scrub"] = found(3, 0)),
            ("could not read 5 places", |account| account["last_scrub"] = found(1, 5)),
            ("the rebuild stopped at 50%", |account| account["rebuild"] = task(50, true)),
        ];
        for (told, change) in cases {
            let verdict = verdict(|account| {
                failed(account);
                change(account);
            });
            assert_eq!(verdict.state, Health::AtRisk, "{told}");
            assert!(verdict.reasons[0].contains(told), "{told}: {:?}", verdict.reasons);
            assert!(verdict.remedy.is_some() && verdict.sentence.starts_with("At risk: "), "{told}");
        }
    }

    #[test]
    fn repaired_mismatches_are_over() {
        let verdict = verdict(|account| {
            account["last_scrub"] = json!({
                "stripes": 9, "skipped": 0, "mismatches": 3, "repaired": 3, "unreadable": 0, "listed": [],
                "complete": true, "cancelled": false,
            });
        });
        assert_eq!(verdict.state, Health::Healthy);
    }

    #[test]
    fn redundancy_that_is_not_in_sync_is_degraded_until_it_is() {
        let running = verdict(|account| account["resync"] = task(20, false));
        assert_eq!((running.state, &running.remedy), (Health::Degraded, &None));
        let told = "80 regions are being resynced (20%, 2 min 10 s left)";
        assert!(running.sentence.contains(told), "{}", running.sentence);
        let stopped = verdict(|account| account["resync"] = task(99, true));
        let told = "1 region could not be resynced";
        assert!(stopped.sentence.contains(told) && stopped.remedy.is_some(), "{}", stopped.sentence);
    }

    #[test]
    fn a_member_with_many_read_errors_is_to_be_replaced() {
        let told = verdict(|account| account["members"][2]["failing"] = json!(true));
        assert_eq!(
            told.sentence,
            "Degraded: member 2 had many read errors of late; replace it before it dies \
             ('parlour replace 2 PATH --array x')."
        );
    }

    #[test]
    fn copies_that_survive_more_say_so() {
        let verdict = verdict(|account| {
            account["members"][3]["state"] = "failed".into();
            account["members"][3]["member"] = Value::Null;
            account["spare_redundancy"] = 2.into();
        });
        let told =
            "member 3 is missing; no data is lost, and the array still survives the failure of 2 members";
        assert!(verdict.sentence.contains(told), "{}", verdict.sentence);
    }
}
