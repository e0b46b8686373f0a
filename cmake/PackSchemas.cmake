# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE -DSOURCE=FILE -DWORDS=FILE -P PackSchemas.cmake: writes the
# header of aten/op_rows.h for the rows, OP("schema", ...), of a file of ops.
# Words of WORDS become the bytes of aten/schema_text.c, the first ones first.

# The texts, as a list. Brackets would join items of it, and backslashes escape.
function(read_texts out file macro)
  file(READ ${file} text)
  string(ASCII 1 open)
  string(ASCII 2 close)
  string(REPLACE "[" "${open}" text "${text}")
  string(REPLACE "]" "${close}" text "${text}")
  string(REGEX REPLACE "\"[ \n]*\"" "" text "${text}")
  string(REGEX MATCHALL "[ \n]${macro}\\([ \n]*\"([^\"\\\\]|\\\\.)*\"" found
               "\n${text}")
  string(REGEX REPLACE "[ \n]${macro}\\([ \n]*\"(([^\"\\\\]|\\\\.)*)\"" "\\1"
                       found "${found}")
  string(ASCII 3 backslash)
  string(REPLACE "\\\\" "${backslash}" found "${found}")
  string(REPLACE "\\\"" "\"" found "${found}")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

read_texts(words ${WORDS} "[A-Z]+") # HEAD and WORD
read_texts(schemas ${SOURCE} OP)
set(packed "${schemas}")
set(codes)
set(code 127)
foreach(word IN LISTS words)
  if(code EQUAL 256)
    set(code 14)
  elseif(code EQUAL 32)
    message(FATAL_ERROR "more words than codes")
  endif()
  string(ASCII ${code} byte)
  string(REPLACE "${word}" "${byte}" packed "${packed}")
  list(APPEND codes ${code})
  math(EXPR code "${code} + 1")
endforeach()
# As literals of C.
string(REPLACE "\"" "\\\"" packed "${packed}")
foreach(code IN LISTS codes)
  string(ASCII ${code} byte)
  math(EXPR high "${code} / 64")
  math(EXPR middle "${code} / 8 % 8")
  math(EXPR low "${code} % 8")
  string(REPLACE "${byte}" "\\${high}${middle}${low}" packed "${packed}")
endforeach()
string(ASCII 1 open)
string(ASCII 2 close)
string(ASCII 3 backslash)
string(REPLACE "${backslash}" "\\\\" packed "${packed}")
string(REPLACE "${open}" "[" packed "${packed}")
string(REPLACE "${close}" "]" packed "${packed}")

get_filename_component(name ${SOURCE} NAME)
set(text "/* Made of ${name} by the build. */\n#include \"aten/op_rows.h\"\n\n")
set(n 0)
foreach(schema line IN ZIP_LISTS schemas packed)
  string(LENGTH "${schema}" length)
  string(APPEND text "#define LENGTH_${n} ${length}\n"
                     "#define PACKED_${n} \"${line}\"\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "${text}")
