//! Tests of HTML pages in a browser: opens a page, saves a screenshot, and returns what a script
//! found in the page.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The widths of a desktop and of a phone, in pixels.
pub(crate) const WIDTHS: [u32; 2] = [1_400, 400];

/// More pixels than the height of any page.
const TALL: u32 = 200_000;

/// The directory for the pages of this name and their screenshots: below `target`, beside the test
/// program.
pub(crate) fn directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&directory).expect("below target can be written");
    directory
}

/// Opens the page at this width, saves a screenshot of `part` of its height beside it, and returns
/// what `script` found in the whole page and stored in `document.body.dataset.found`.
///
/// # Panics
/// A script reports an error, nothing is found, or the screenshot is empty.
pub(crate) fn opened(page: &Path, width: u32, part: Range<u32>, script: &str) -> String {
    let Range { start, end } = part;
    // A browser window has a minimum width; a frame has none.
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

/// Runs a browser. Returns the resulting document, and the scripts' console output.
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
