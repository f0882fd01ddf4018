//! Intel's ISA-L, loaded when the bench runs, so that nothing else needs it.

use std::ffi::{c_int, c_uchar, c_void};

use libloading::{Library, Symbol};

/// The name of version 2.
const NAME: &str = "libisal.so.2";

type Gen = unsafe extern "C" fn(c_int, c_int, *mut *mut c_void) -> c_int;
type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type Encode =
    unsafe extern "C" fn(c_int, c_int, c_int, *mut c_uchar, *const *const c_uchar, *mut *mut c_uchar);
type Update =
    unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut c_uchar, *const c_uchar, *mut *mut c_uchar);

/// The library.
pub(crate) struct Isal {
    xor_gen: Gen,
    pq_gen: Gen,
    init_tables: InitTables,
    encode: Encode,
    update: Update,
    /// Keeps the functions in memory.
    _library: Library,
}

/// A function of the library that fits a computation.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Function {
    /// `xor_gen`: one output, the exclusive or of the sources.
    Xor,
    /// `xor_gen` with the output as another source.
    XorInto,
    /// `pq_gen`: P and Q.
    PAndQ,
    /// `ec_encode_data`: any coefficients.
    Encode,
    /// `ec_encode_data_update`: adds one source to all outputs.
    Update,
}

impl Function {
    /// Its name in the library.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Xor | Self::XorInto => "xor_gen",
            Self::PAndQ => "pq_gen",
            Self::Encode => "ec_encode_data",
            Self::Update => "ec_encode_data_update",
        }
    }
}

/// A call that is ready to be made, with its tables and its arrays of pointers.
pub(crate) struct Call<'a> {
    isal: &'a Isal,
    function: Function,
    length: c_int,
    sources: Vec<*const c_uchar>,
    outputs: Vec<*mut c_uchar>,
    /// Sources and outputs.
    all: Vec<*mut c_void>,
    tables: Vec<c_uchar>,
}

impl Isal {
    /// Loads the library.
    pub(crate) fn load() -> Result<Isal, libloading::Error> {
        // SAFETY: ISA-L has no initializers with conditions. The types are those of its headers
        // `raid.h` and `erasure_code.h`, in version 2.30.
        unsafe {
            let library = Library::new(NAME)?;
            Ok(Isal {
                xor_gen: get(&library, c"xor_gen")?,
                pq_gen: get(&library, c"pq_gen")?,
                init_tables: get(&library, c"ec_init_tables")?,
                encode: get(&library, c"ec_encode_data")?,
                update: get(&library, c"ec_encode_data_update")?,
                _library: library,
            })
        }
    }

    /// Prepares a call. The coefficients are in rows, one for each output.
    pub(crate) fn prepare<'a>(
        &'a self,
        function: Function,
        outputs: &'a mut [&mut [u8]],
        sources: &'a [&[u8]],
        coefficients: &[u8],
    ) -> Call<'a> {
        let length = sources[0].len();
        assert!(sources.iter().all(|source| source.len() == length), "units have one length");
        assert!(outputs.iter().all(|output| output.len() == length), "units have one length");
        assert_eq!(coefficients.len(), outputs.len() * sources.len(), "one for each pair");
        // `xor_gen` and `pq_gen` ask for aligned units, and take the last ones for the outputs.
        let aligned = |start: *const u8| start.addr().is_multiple_of(64);
        assert!(sources.iter().all(|source| aligned(source.as_ptr())), "units are aligned");
        assert!(outputs.iter().all(|output| aligned(output.as_ptr())), "units are aligned");
        match function {
            Function::Xor | Function::XorInto => assert_eq!(outputs.len(), 1, "one output"),
            Function::PAndQ => assert_eq!(outputs.len(), 2, "P and Q"),
            Function::Update => assert_eq!(sources.len(), 1, "one source"),
            Function::Encode => {}
        }
        let outputs: Vec<*mut c_uchar> = outputs.iter_mut().map(|output| output.as_mut_ptr()).collect();
        let sources: Vec<*const c_uchar> = sources.iter().map(|source| source.as_ptr()).collect();
        let kept = if function == Function::XorInto { &outputs[..] } else { &[] };
        let mut all: Vec<*mut c_void> = kept.iter().map(|output| output.cast()).collect();
        all.extend(sources.iter().map(|source| source.cast_mut().cast::<c_void>()));
        all.extend(outputs.iter().map(|output| output.cast::<c_void>()));
        let mut tables = vec![0; 32 * coefficients.len()];
        // SAFETY: there is a coefficient for each pair, and 32 bytes of table for each.
        unsafe {
            let (columns, rows) = (int(sources.len()), int(outputs.len()));
            (self.init_tables)(columns, rows, coefficients.as_ptr(), tables.as_mut_ptr());
        }
        Call { isal: self, function, length: int(length), sources, outputs, all, tables }
    }
}

impl Call<'_> {
    /// Makes the call.
    pub(crate) fn run(&mut self) {
        let Call { isal, length, sources, outputs, all, tables, .. } = self;
        let (columns, rows, vectors) = (int(sources.len()), int(outputs.len()), int(all.len()));
        // SAFETY: `prepare` has checked the lengths and made the arrays. It has borrowed the slices
        // for as long as this value lives. The library does not write to sources.
        let error = unsafe {
            match self.function {
                Function::Xor | Function::XorInto => (isal.xor_gen)(vectors, *length, all.as_mut_ptr()),
                Function::PAndQ => (isal.pq_gen)(vectors, *length, all.as_mut_ptr()),
                Function::Encode => {
                    let (from, to) = (sources.as_ptr(), outputs.as_mut_ptr());
                    (isal.encode)(*length, columns, rows, tables.as_mut_ptr(), from, to);
                    0
                }
                Function::Update => {
                    let (from, to) = (sources[0], outputs.as_mut_ptr());
                    (isal.update)(*length, columns, rows, 0, tables.as_mut_ptr(), from, to);
                    0
                }
            }
        };
        assert_eq!(error, 0, "{} refused the call", self.function.name());
    }
}

/// A function of the library.
///
/// # Safety
/// It has this type.
unsafe fn get<T: Copy>(library: &Library, name: &std::ffi::CStr) -> Result<T, libloading::Error> {
    // SAFETY: as the caller says.
    let symbol: Symbol<'_, T> = unsafe { library.get(name)? };
    Ok(*symbol)
}

fn int(size: usize) -> c_int {
    size.try_into().expect("units are smaller than 2 GiB")
}
