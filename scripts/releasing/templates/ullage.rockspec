rockspec_format = '3.0'
package = '$name.nvim'
version = '$version-1'
source = {
  url = '$repository/releases/download/v$version/$name.nvim-$version.tar.gz',
}
description = {
  summary = "$description",
  homepage = '$repository',
  license = '$license',
  labels = { 'neovim' },
}
dependencies = {
  'lua >= 5.1',
}
build = {
  type = 'builtin',
  copy_directories = { 'doc', 'lsp', 'plugin' },
}
