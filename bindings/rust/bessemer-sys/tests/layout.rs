// SPDX-License-Identifier: Apache-2.0
//! The structs are laid out as the C compiler lays out those of the headers. A
//! struct that begins with its size may have fewer fields, at its end.
//! BESSEMER_INCLUDE_DIR is where the headers are; CC the compiler (cc).
use bessemer_sys::*;
use std::io::Write;
use std::mem::{size_of, MaybeUninit};
use std::process::{Command, Stdio};

struct Row {
    c: String,
    ours: usize,
}

macro_rules! rows {
    ($rows:ident, $name:ident { $($field:ident),* }) => {{
        let value = MaybeUninit::<$name>::uninit();
        let base = value.as_ptr();
        $(
            // The address of a field of memory that is not read.
            let field = unsafe { std::ptr::addr_of!((*base).$field) };
            $rows.push(Row {
                c: format!("offsetof({}, {})", stringify!($name), stringify!($field)),
                ours: field as usize - base as usize,
            });
        )*
    }};
}

fn offsets() -> Vec<Row> {
    let mut rows = Vec::new();
    rows!(rows, bsm_dims { rank, d });
    rows!(
        rows,
        bsm_array {
            data,
            dtype,
            dims,
            strides,
            space,
            device
        }
    );
    rows!(
        rows,
        bsm_binding {
            struct_size,
            name,
            dtype,
            dims,
            space
        }
    );
    rows!(
        rows,
        bsm_engine_load_options {
            struct_size,
            logger,
            allocator,
            max_file_bytes,
            skip_checksum,
            plugins,
            device,
            trust_code,
            without_device,
            public_keys,
            public_key_count,
            ignore_built,
            no_map
        }
    );
    rows!(
        rows,
        bsm_context_options {
            struct_size,
            threads,
            pool,
            isa,
            logger,
            allocator,
            workspace,
            workspace_size,
            profile,
            output_allocate,
            output_user,
            max_instructions,
            max_run_bytes,
            max_plans,
            stream,
            no_graphs,
            keep_tensors
        }
    );
    rows!(
        rows,
        bsm_input_spec {
            kind,
            name,
            dtype,
            rank,
            min,
            opt,
            max,
            int_value,
            float_value,
            bool_value,
            array,
            string,
            string_length,
            items,
            item_count,
            key_kind,
            int_key,
            float_key
        }
    );
    rows!(
        rows,
        bsm_compile_options {
            struct_size,
            method,
            inputs,
            input_count,
            patterns,
            pattern_count,
            isa,
            threads,
            no_timing,
            timing_cache,
            logger,
            allocator,
            dump,
            dump_user,
            truncate_long_and_double,
            require_full_compilation,
            fallback_ops,
            fallback_op_count,
            fallback_modules,
            fallback_module_count,
            min_block_size,
            target,
            precisions
        }
    );
    for (c, ours) in [
        // Values without a size stay as they are.
        ("sizeof(bsm_dims)", size_of::<bsm_dims>()),
        ("sizeof(bsm_array)", size_of::<bsm_array>()),
        ("sizeof(bsm_input_spec)", size_of::<bsm_input_spec>()),
        ("BSM_MAX_RANK", BSM_MAX_RANK),
        ("BSM_DTYPE_FLOAT", BSM_DTYPE_FLOAT as usize),
    ] {
        rows.push(Row { c: c.into(), ours });
    }
    rows
}

#[test]
fn structs_are_those_of_the_headers() {
    let include = match std::env::var("BESSEMER_INCLUDE_DIR") {
        Ok(folder) => folder,
        Err(_) => {
            println!("skipped: BESSEMER_INCLUDE_DIR is not set");
            return;
        }
    };
    let rows = offsets();
    let mut source = String::from(
        "#include <stddef.h>\n#include <bessemer/compiler.h>\n\
         #define SAME(what, value) _Static_assert((what) == (value), #what)\n",
    );
    for row in &rows {
        source += &format!("SAME({}, {});\n", row.c, row.ours);
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let mut child = Command::new(compiler)
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-", "-I", &include])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a C compiler");
    child
        .stdin
        .take()
        .unwrap()
        .write_all(source.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(rows.len() > 80);
}
