//! A browser that opens pages, keeps a picture of each, and says what a script found in it.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A desk's, and a phone's, in pixels.
pub(crate) const WIDTHS: [u32; 2] = [1_400, 400];

/// More pixels than any page is high.
const TALL: u32 = 200_000;

/// Where pages of this name and their pictures are kept: below `target`, beside this test's
/// program.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("below target can be written");
    directory
}

/// Opens the page as wide as that, keeps a picture of `part` of its height beside it, and answers
/// with what `script` found in all of it and left in `document.body.dataset.found`.
///
/// # Panics
/// A script complains, nothing is found, or nothing is seen.
pub(crate) fn opened(page: &Path, width: u32, part: Range<u32>, script: &str) -> String {
    let Range { start, end } = part;
    // A window has a least width, a frame has none.
    let frame = page.with_extension(format!("{width}-{start}.html"));
    let text = format!(
        "<!DOCTYPE html><body style=\"margin:0;overflow:hidden\">\
         <iframe src=\"{}\" style=\"border:0;width:{width}px;height:{TALL}px;margin-top:-{start}px\"></iframe>\
         <script>{script}</script>",
        page.file_name().expect("it has a name").to_string_lossy(),
    );
    fs::write(&frame, text).expect("below target can be written");
    let picture = frame.with_extension("png");
    let (contents, complaints) = browse(&frame, &picture, (width.max(500), end - start));
    assert_eq!(complaints, "", "at {width} pixels");
    assert!(fs::metadata(picture).is_ok_and(|picture| picture.len() > 10_000), "at {width} pixels");
    let found = contents.split("data-found=\"").nth(1).and_then(|rest| rest.split('"').next());
    found.unwrap_or_else(|| panic!("nothing was found: {contents}")).replace("&quot;", "\"")
}

/// Runs a browser: what the page became, and what scripts said on its console.
fn browse(file: &Path, picture: &Path, (width, height): (u32, u32)) -> (String, String) {
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=5000",
        ])
        .args(["--allow-file-access-from-files", "--enable-logging=stderr", "--dump-dom"])
        .arg(format!("--screenshot={}", picture.display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--user-data-dir={}", file.with_extension("browser").display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("chromium can be started: cargo xtask test installs it");
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), said)
}
