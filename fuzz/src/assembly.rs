//! Fuzzes images of members with arbitrary metadata: assembles, opens, serves and stops an array.
//! Whatever superblocks, bitmaps, tables and log headers contain, with valid checksums, the array
//! either refuses them or works: no access goes beyond a member, every request is answered, and the
//! array comes to rest. All of this happens in a bounded address space.

use std::sync::OnceLock;

use parlour_array::organization::Consistency;
use parlour_array::{CommitPart, Mode, Operation};
use parlour_units::Sectors;

use crate::input::Input;
use crate::memory;
use crate::world::{ARRAYS, How, Image, Structure, World};

/// The largest number of steps of an input.
const STEPS: usize = 1_000;

/// Interprets the bytes as changes to an image, followed by operations on it.
pub fn run(data: &[u8]) {
    memory::bound();
    let mut input = Input::new(data);
    let mut image = choose(&mut input).clone();
    for _ in 0..input.below(16) {
        change(&mut image, &mut input);
    }
    let how = input.byte();
    let how = How { read_only: how & 1 == 1, force: how & 2 == 2 };
    let Ok(mut world) = World::open(image.disks, how) else { return };
    for _ in 0..STEPS {
        if input.is_empty() {
            break;
        }
        act(&mut world, &mut input);
    }
    if !world.stop() {
        return;
    }
    if let Ok(mut world) = World::open(world.disks, How::default()) {
        world.stop();
    }
}

/// Chooses one of the images. Each array has three: as created, after a clean shutdown, and after a
/// crash (in a reintegration, if it has commit logs).
fn choose<'a>(input: &mut Input<'_>) -> &'a Image {
    static IMAGES: OnceLock<Vec<Image>> = OnceLock::new();
    let images = IMAGES.get_or_init(|| ARRAYS.iter().flat_map(|array| images(*array)).collect());
    &images[input.below(images.len())]
}

/// The three images of an array.
fn images((name, members, consistency): (&str, u16, Consistency)) -> [Image; 3] {
    let created = Image::create(name, members, consistency);
    let mut world = World::open(created.disks.clone(), How::default()).expect("a new array opens");
    let capacity = created.geometry.capacity().get();
    for step in 0..12 {
        world.submit(Operation::Write { durable: step % 3 == 0 }, capacity / 12 * step, 1 + step * 3);
        world.settle();
    }
    if consistency.is_journal() {
        begin_reintegration(&mut world);
    }
    let crashed = Image { disks: world.disks.clone(), ..created.clone() };
    assert!(world.stop(), "an array stops");
    let stopped = Image { disks: world.disks, ..created.clone() };
    [created, stopped, crashed]
}

/// Writes until a commit log announces that parity will be rewritten.
fn begin_reintegration(world: &mut World) {
    let (at, length) = world.array.geometry().commit_part(CommitPart::Intents);
    let told =
        |world: &World| world.disks.iter().any(|disk| disk.read(at, length).iter().any(|byte| *byte != 0));
    while !told(world) {
        if world.is_idle() {
            world.submit(Operation::Write { durable: false }, 0, 1);
        }
        world.step(0);
    }
}

fn change(image: &mut Image, input: &mut Input<'_>) {
    let disk = input.below(image.disks.len());
    let copy = usize::from(input.coin());
    match input.byte() % 20 {
        0..6 => put(image, disk, Structure::Superblock(copy), 1_200, input),
        6..9 => put(image, disk, Structure::Bitmap(copy), 128, input),
        9..12 => put(image, disk, Structure::Table(copy), 128, input),
        12..14 => {
            let part = if input.coin() { CommitPart::Intents } else { CommitPart::Records };
            let sector = u64::from(input.byte());
            put(image, disk, Structure::Entry(part, sector), 256, input);
        }
        14..17 => {
            let (region, segment) = (input.byte().into(), input.byte().into());
            put(image, disk, Structure::Header(region, segment, copy == 1), 256, input);
        }
        17 if image.disks.len() > 1 => drop(image.disks.remove(disk)),
        // A member of another time, or of another array.
        18 => {
            let other = choose(input).disks.first().expect("every array has members").clone();
            image.disks[disk] = other;
        }
        _ => image.disks[disk].length = Sectors::new(u64::from(input.u16())),
    }
}

/// Changes up to 16 bytes at the start of a structure.
fn put(image: &mut Image, disk: usize, structure: Structure, room: usize, input: &mut Input<'_>) {
    let (seal, from, count) = (!input.byte().is_multiple_of(8), input.below(room), input.below(17));
    image.change(disk, structure, from, input.take(count), seal);
}

fn act(world: &mut World, input: &mut Input<'_>) {
    let choice = input.byte();
    let operation = match choice % 16 {
        0..3 => Operation::Write { durable: choice & 16 != 0 },
        3..5 => Operation::Read,
        5 => Operation::Flush,
        6 => Operation::Trim,
        7 => Operation::WriteZeroes {
            may_unmap: choice & 16 != 0,
            fast_only: choice & 32 != 0,
            durable: choice & 64 != 0,
        },
        _ => return world.step(input.byte().into()),
    };
    if world.array.mode() == Mode::Stopped {
        return;
    }
    let capacity = world.array.geometry().capacity().get();
    let (at, length) = (u64::from(input.u16()) % (capacity + 2), u64::from(input.byte()));
    let length = if operation == Operation::Flush { 0 } else { length };
    world.submit(operation, at, length);
}
