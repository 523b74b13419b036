module filters

go 1.21

require github.com/bits-and-blooms/bloom/v3 v3.7.1

require github.com/bits-and-blooms/bitset v1.24.2 // indirect
