"""The functions of libglint_formats.so for tests, by ctypes; tables are pyarrow's."""

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, byref, c_char, c_double, c_int, c_int32
from ctypes import c_bool, c_int64, c_uint8, c_uint32, c_uint64, c_void_p

import pyarrow as pa

PARQUET, ARROW_FILE, ARROW_STREAM, AVRO, ORC = 1, 2, 3, 4, 5
DAMAGED, CALLBACK, UNSUPPORTED, INTERNAL = 1, 2, 3, 4
CODECS = ["none", "snappy", "zstd", "gzip", "lz4", "brotli"]
READ = CFUNCTYPE(c_int, c_void_p, c_uint64, c_void_p, c_uint64)
WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_uint64)


class Failure(Structure):
    _fields_ = [("kind", c_int32), ("piece", c_int64), ("message", c_char * 1024)]


class Input(Structure):
    _fields_ = [("context", c_void_p), ("size", c_uint64), ("remote", c_bool), ("read", READ)]


class Output(Structure):
    _fields_ = [("context", c_void_p), ("write", WRITE)]


class Piece(Structure):
    _fields_ = [(name, c_uint64) for name in ("rows", "bytes", "memory", "offset")]


class ReadOptions(Structure):
    _fields_ = [("piece", c_uint32), ("column_count", c_uint32), ("columns", POINTER(c_uint32)),
                ("dictionary", POINTER(c_uint8)), ("batch_rows", c_uint32),
                ("read_ahead", c_uint32), ("memory", c_uint64)]


class WriteOptions(Structure):
    _fields_ = [("kind", c_uint32), ("compression", c_uint32), ("level", c_int32),
                ("row_group_rows", c_uint32), ("row_group_bytes", c_uint64),
                ("bloom_count", c_uint32), ("bloom_columns", POINTER(c_uint32)),
                ("bloom_fpp", c_double)]


class ArrowStruct(Structure):  # as large as any of Arrow's three structs
    _fields_ = [("bytes", c_uint64 * 16)]


class BloomFilter(Structure):
    _fields_ = [("offset", c_uint64), ("type", c_uint32), ("zero", c_uint32)]


ERROR = POINTER(Failure)
TABLE = [("abi", c_uint32), ("size", c_uint32), ("version", ctypes.c_char_p)] + [
    (name, CFUNCTYPE(*types)) for name, types in [
        ("open", (c_int, POINTER(Input), c_uint32, POINTER(c_void_p), ERROR)),
        ("close", (None, c_void_p)),
        ("schema", (c_int, c_void_p, c_void_p, ERROR)),
        ("piece_count", (c_uint32, c_void_p)),
        ("piece", (c_int, c_void_p, c_uint32, POINTER(Piece), ERROR)),
        ("statistics", (c_int, c_void_p, c_uint32, c_void_p, ERROR)),
        ("may_contain", (c_int, c_void_p, c_uint32, c_uint32, ctypes.c_char_p, c_uint64,
                         POINTER(ctypes.c_bool), ERROR)),
        ("bloom_filter", (c_int, c_void_p, c_uint32, c_uint32, POINTER(BloomFilter), ERROR)),
        ("read", (c_int, c_void_p, POINTER(ReadOptions), c_void_p, ERROR)),
        ("last_error", (None, c_void_p, ERROR)),
        ("create", (c_int, POINTER(Output), POINTER(WriteOptions), c_void_p, POINTER(c_void_p),
                    ERROR)),
        ("write", (c_int, c_void_p, c_void_p, ERROR)),
        ("finish", (c_int, c_void_p, ERROR)),
        ("destroy", (None, c_void_p)),
        ("allocated", (c_int64,)),
    ]]


class Table(Structure):
    _fields_ = TABLE


class FormatError(Exception):
    def __init__(self, failure):
        self.kind, self.piece = failure.kind, failure.piece
        super().__init__(failure.message.decode("utf-8", "replace"))


class Library:
    def __init__(self, path):
        self.loaded = ctypes.CDLL(path)
        self.loaded.glint_formats.restype = POINTER(Table)
        self.table = self.loaded.glint_formats().contents
        assert self.table.abi == 4 and self.table.size == ctypes.sizeof(Table)

    def open(self, data, kind=PARQUET):
        return File(self, data, kind)

    def write(self, table, kind=PARQUET, codec="none", level=-1, rows=1 << 20, size=1 << 40,
              bloom=(), fpp=0.01, batch_rows=None):
        """The bytes of a file with the table."""
        out = bytearray()

        @WRITE
        def append(_, data, count):
            out.extend(ctypes.string_at(data, count))
            return 0

        output, error, writer = Output(None, append), Failure(), c_void_p()
        columns = (c_uint32 * max(len(bloom), 1))(*bloom)
        options = WriteOptions(kind, CODECS.index(codec), level, rows, size, len(bloom), columns,
                               fpp)
        schema = ArrowStruct()
        table.schema._export_to_c(ctypes.addressof(schema))
        t = self.table
        if t.create(byref(output), byref(options), byref(schema), byref(writer), byref(error)):
            raise FormatError(error)
        try:
            for batch in table.to_batches(batch_rows):
                array = ArrowStruct()
                batch._export_to_c(ctypes.addressof(array))
                if t.write(writer, byref(array), byref(error)):
                    raise FormatError(error)
            if t.finish(writer, byref(error)):
                raise FormatError(error)
        finally:
            t.destroy(writer)
        return bytes(out)


def plain(table):
    """The table without dictionaries, which a piece may have and another not."""
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(i, table.field(i).name, column.cast(column.type.value_type))
    return table


class File:
    def __init__(self, library, data, kind):
        self.table, self.data, self.reads = library.table, data, []
        self.fail = False

        @READ
        def read(_, offset, out, size):
            assert size > 0 and offset + size <= len(self.data)
            self.reads.append((offset, size))
            if self.fail:
                return 1
            ctypes.memmove(out, self.data[offset:offset + size], size)
            return 0

        self.input, self.handle, error = Input(None, len(data), False, read), c_void_p(), Failure()
        if self.table.open(byref(self.input), kind, byref(self.handle), byref(error)):
            raise FormatError(error)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.table.close(self.handle)

    def schema(self):
        schema, error = ArrowStruct(), Failure()
        if self.table.schema(self.handle, byref(schema), byref(error)):
            raise FormatError(error)
        return pa.Schema._import_from_c(ctypes.addressof(schema))

    def pieces(self):
        result = []
        for number in range(self.table.piece_count(self.handle)):
            piece, error = Piece(), Failure()
            if self.table.piece(self.handle, number, byref(piece), byref(error)):
                raise FormatError(error)
            result.append(piece)
        return result

    def read(self, piece, columns=None, dictionary=None, batch_rows=65536, ahead=1 << 20):
        """The piece's batches, one after another."""
        if columns is None:
            columns = range(len(self.schema()))
        count = len(columns)
        flags = (c_uint8 * max(count, 1))(*(dictionary or [0] * count))
        options = ReadOptions(piece, count, (c_uint32 * max(count, 1))(*columns), flags,
                              batch_rows, ahead, 1 << 40)
        stream, error = ArrowStruct(), Failure()
        if self.table.read(self.handle, byref(options), byref(stream), byref(error)):
            raise FormatError(error)
        reader = pa.RecordBatchReader._import_from_c(ctypes.addressof(stream))
        while True:
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except Exception as raised:
                self.table.last_error(self.handle, byref(error))
                raise FormatError(error) from raised
            batch.validate(full=True)
            yield batch

    def table_of(self, **options):
        """All pieces as one table."""
        tables = []
        for piece in range(len(self.pieces())):
            batches = list(self.read(piece, **options))
            if batches:
                tables.append(plain(pa.Table.from_batches(batches)))
        columns = options.get("columns")
        schema = self.schema()
        if columns is not None:
            schema = pa.schema([schema.field(i) for i in columns])
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def statistics(self, column):
        return self.statistics_table(column).to_pylist()

    def statistics_table(self, column):
        stream, error = ArrowStruct(), Failure()
        if self.table.statistics(self.handle, column, byref(stream), byref(error)):
            raise FormatError(error)
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()

    def may_contain(self, piece, column, value):
        found, error = ctypes.c_bool(), Failure()
        if self.table.may_contain(self.handle, piece, column, value, len(value), byref(found),
                                  byref(error)):
            raise FormatError(error)
        return found.value

    def bloom_filter(self, piece, column):
        found, error = BloomFilter(), Failure()
        if self.table.bloom_filter(self.handle, piece, column, byref(found), byref(error)):
            raise FormatError(error)
        return found.offset, found.type
