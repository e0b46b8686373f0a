# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE -DFOLDER=FOLDER -P EmbedPages.cmake: writes the pages of
# FOLDER as a C file: NAME.html is bsm_page_NAME of tools/page.h.
file(GLOB sources ${FOLDER}/*.html)
list(SORT sources)
set(text "#include \"tools/page.h\"\n\n")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  file(READ ${source} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(REGEX REPLACE "(......................................................................)" "\\1\n" bytes "${bytes}")
  string(APPEND text "const char bsm_page_${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${text}")
