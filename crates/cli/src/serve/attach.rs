//! The instructions for clients that `parlour up` prints.

use std::path::Path;

use super::Served;
use crate::wording::quoted;

/// How to attach with nbd-client, qemu and nbdfuse.
pub(crate) fn text(served: &Served, directory: &Path) -> String {
    let Some(socket) = &served.unix else { return String::new() };
    let socket = quoted(socket);
    let tcp = served.tcp.map_or(String::new(), |address| {
        format!("        nbd-client {} {} /dev/nbd0\n", address.ip(), address.port())
    });
    let status = match directory == Path::new("parlour-data") {
        true => "parlour status".to_owned(),
        false => format!("parlour status {}", quoted(directory)),
    };
    format!(
        "\n\
         As a block device, as root:\n        \
             nbd-client -unix {socket} /dev/nbd0\n\
         {tcp}\
         As the disk of a virtual machine:\n        \
             qemu-system-x86_64 -drive file=nbd+unix:///?socket={socket},format=raw,if=virtio\n\
         As a file, without root:\n        \
             mkdir -p disk && nbdfuse disk/nbd nbd+unix:///?socket={socket}\n\
         How it is:\n        \
             {status}\n\n"
    )
}
