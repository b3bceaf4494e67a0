#!/usr/bin/env python3
"""Turns a program for the kernel, as clang made it, into what the library includes.

usage: embed.py OBJECT SECTION OUTPUT SOURCE...     without OBJECT ("-"): a program without instructions, which says that there was no compiler

The output defines kImage, a lapwing::net::bpf::Image (bpf.h): the instructions in order, and which of them load the address of which map. And
kFingerprint, a number by which two builds find out whether their programs are of the same sources, and so agree on the memory that they share. It is
included within a namespace of the includer's.
"""
import hashlib
import struct
import sys


def sections(image):
    """Name -> (bytes, link) of each section, and the list of their bytes."""
    table, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, table + i * size) for i in range(count)]
    contents = [image[header[4]:header[4] + header[5]] for header in headers]
    return {text_at(contents[names], header[0]): (content, header[6]) for header, content in zip(headers, contents)}, contents


def text_at(strings, offset):
    return strings[offset:strings.index(b"\0", offset)].decode()


def map_loads(found, contents, section):
    if ".rel" + section not in found:
        return
    relocations, symbols_index = found[".rel" + section]
    symbols = contents[symbols_index]
    strings = found[".strtab"][0]
    for offset, info in struct.iter_unpack("<QQ", relocations):
        name, = struct.unpack_from("<I", symbols, (info >> 32) * 24)
        yield offset // 8, text_at(strings, name)


def lines(image, section):
    found, contents = sections(image)
    yield "constexpr std::uint64_t kInstructions[] = {"
    for word, in struct.iter_unpack("<Q", found[section][0]):
        yield f"    {word:#018x},"
    yield "};"
    yield "constexpr lapwing::net::bpf::MapLoad kMapLoads[] = {"
    for index, name in map_loads(found, contents, section):
        yield f'    {{{index}, "{name}"}},'
    yield "};"
    yield "constexpr lapwing::net::bpf::Image kImage{kInstructions, kMapLoads};"


def fingerprint(sources):
    digest = hashlib.sha256()
    for source in sources:
        with open(source, "rb") as file:
            digest.update(file.read())
    return int.from_bytes(digest.digest()[:8], "little")


def main():
    source, section, output, *sources = sys.argv[1:]
    text = ["constexpr lapwing::net::bpf::Image kImage{};"]
    if source != "-":
        with open(source, "rb") as file:
            text = lines(file.read(), section)
    with open(output, "w", encoding="ascii") as file:
        file.writelines(line + "\n" for line in text)
        file.write(f"[[maybe_unused]] constexpr std::uint64_t kFingerprint = {fingerprint(sources):#018x};\n")


main()
