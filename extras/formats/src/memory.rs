//! Counts the bytes that each thread has allocated and not freed, so that the library's memory
//! counts against its caller's limit. Memory that a codec in C allocates is not counted: zstd's
//! contexts, below 1 MiB for each column that is read.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Const, and without a destructor: the first use in a thread allocates nothing.
    static ALLOCATED: Cell<i64> = const { Cell::new(0) };
}

/// Bytes of this thread. Memory that another thread frees counts there, so it can be negative.
pub fn allocated() -> i64 {
    ALLOCATED.get()
}

fn count(bytes: i64) {
    ALLOCATED.set(ALLOCATED.get().wrapping_add(bytes));
}

struct Counted;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

// SAFETY: all memory comes from System; only sizes are counted, and without allocation.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let memory = unsafe { System.alloc(layout) };
        if !memory.is_null() {
            count(layout.size() as i64);
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let memory = unsafe { System.alloc_zeroed(layout) };
        if !memory.is_null() {
            count(layout.size() as i64);
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        unsafe { System.dealloc(memory, layout) };
        count(-(layout.size() as i64));
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let moved = unsafe { System.realloc(memory, layout, size) };
        if !moved.is_null() {
            count(size as i64 - layout.size() as i64);
        }
        moved
    }
}
