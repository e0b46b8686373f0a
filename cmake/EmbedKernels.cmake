# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE -DFOLDER=FOLDER -P EmbedKernels.cmake: writes the sources of
# FOLDER as a C file, the table of backend/cuda/target/kernel_sources.h.
file(GLOB sources ${FOLDER}/*.cu ${FOLDER}/*.cuh ${FOLDER}/*.h)
list(SORT sources)
set(text "#include \"backend/cuda/target/kernel_sources.h\"\n\n")
set(table "")
set(index 0)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME)
  file(READ ${source} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],)(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?(0x[0-9a-f][0-9a-f],)?)"
         "\\1\n" bytes "${bytes}")
  string(APPEND text "static const char text_${index}[] = {\n${bytes}0};\n")
  string(APPEND table "    {\"${name}\", text_${index}},\n")
  math(EXPR index "${index} + 1")
endforeach()
string(APPEND text "\nconst bsm_kernel_source bsm_kernel_sources[] = {\n"
                   "${table}    {0, 0},\n};\n")
file(WRITE ${OUT} "${text}")
