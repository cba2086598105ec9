# The packages that it needs are added by `brew update-python-resources`, in the release's workflow.
class Ullage < Formula
  include Language::Python::Virtualenv

  desc "$description"
  homepage "$repository"
  url "$address"
  sha256 "$digest"
  license "$license"

  depends_on "rust" => :build
  depends_on "python@3.13"

  def install
    virtualenv_install_with_resources
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ullage --version")
    system bin/"ullage", "demo", "--fast"
  end
end
