//! What is generated from the tables is in the repository, word for word. `UPDATE=1` writes it.

use std::fs;
use std::path::Path;

use ganger::codegen::generated_files;

#[test]
fn the_generated_files_are_fresh() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("core lies in the repository");
    let update = std::env::var_os("UPDATE").is_some_and(|value| value == "1");
    let mut stale = Vec::new();
    for file in generated_files() {
        let path = root.join(file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        if update {
            fs::create_dir_all(path.parent().expect("a file has a folder")).expect("the folder can be made");
            fs::write(&path, file.text).expect("the file can be written");
        } else {
            stale.push(file.path);
        }
    }
    assert!(
        stale.is_empty(),
        "not what the tables say: {stale:#?}\nrun `UPDATE=1 cargo test -p ganger --test codegen` and commit the result"
    );
}
