// SPDX-License-Identifier: Apache-2.0
//! Finds the library: in BESSEMER_LIB_DIR, else where pkg-config says.
use std::env;
use std::process::Command;

fn libdir(package: &str) -> Result<String, String> {
    if let Ok(folder) = env::var("BESSEMER_LIB_DIR") {
        return Ok(folder);
    }
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let output = Command::new(&tool)
        .args(["--variable=libdir", package])
        .output()
        .map_err(|error| format!("{tool}: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if !output.status.success() || text.is_empty() {
        return Err(format!("{tool} does not know {package}"));
    }
    Ok(text)
}

fn main() {
    let whole = env::var_os("CARGO_FEATURE_COMPILER").is_some();
    let library = if whole {
        "bessemer"
    } else {
        "bessemer-runtime"
    };
    for name in ["BESSEMER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    match libdir(library) {
        Ok(folder) => println!("cargo:rustc-link-search=native={folder}"),
        // It may be where the linker looks anyway.
        Err(why) => println!("cargo:warning={why}; set BESSEMER_LIB_DIR"),
    }
    println!("cargo:rustc-link-lib=dylib={library}");
}
