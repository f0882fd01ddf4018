//! Writes to lost blocks, with a power cut at every point.

use super::scene::{STRIPE, Scene, setups};
use crate::common::{Random, Setup, payload};

/// The number of different orders of effects.
const ORDERS: u64 = 4;

/// Writes a part of the lost blocks, cuts the power after `steps` effects, and returns what is
/// wrong then, if anything. Blocks that were being written must be new or as before, lost blocks
/// must still be an error or have new content, and all others must be as before.
fn cut(setup: &Setup, second: u16, part: usize, steps: u64, order: u64) -> Option<String> {
    let mut scene = Scene::new(setup, second);
    scene.world.all_volatile();
    scene.world.random = Random(order);
    let step = scene.block();
    let firsts: Vec<u64> = scene.lost.iter().copied().step_by(step as usize).collect();
    let new = payload(&mut Random(17), step);
    let at = *firsts.get(part)?;
    let tag = scene.world.write(at, &new);
    let done = (0..steps).take_while(|_| scene.world.step()).count() as u64;
    let answered = if scene.world.done.contains_key(&tag) { "answered" } else { "not answered" };
    scene.world = scene.world.crash(false).unwrap();
    scene.world.settle_until(|world| world.array.status().resync.is_none());
    let stripe = scene.world.array.geometry().layout().stripe_data().get();
    let stripes = (stripe * STRIPE..stripe * (STRIPE + 1)).step_by(step as usize);
    for sector in stripes {
        let read = scene.world.read_now(sector, step);
        let old = &scene.content[sector as usize * 512..(sector + step) as usize * 512];
        let is_old = read.is_err() && firsts.contains(&sector) || read.as_deref() == Ok(old);
        let is_new = sector == at && read.as_deref() == Ok(&new[..]);
        if !is_old && !is_new {
            return Some(format!("{setup:?}, {second}: sector {sector} after {done} effects ({answered})"));
        }
    }
    None
}

/// All cuts of all arrays. Returns what is wrong in the first failing case.
pub(crate) fn cut_everywhere() -> Option<String> {
    setups().into_iter().filter(|setup| setup.block == 1).find_map(|setup| {
        let data = setup.geometry().layout().data_units();
        let cuts = |second, part| {
            let mut all = (0..24).flat_map(|steps| (0..ORDERS).map(move |order| (steps, order)));
            all.find_map(|(steps, order)| cut(&setup, second, part, steps, order))
        };
        [(1, 0), (1, 1), (data, 0)].into_iter().find_map(|(second, part)| cuts(second, part))
    })
}
