{
  lib,
  python3Packages,
  fetchPypi,
}:

python3Packages.buildPythonApplication rec {
  pname = "$name";
  version = "$version";
  pyproject = true;

  src = fetchPypi {
    inherit pname version;
    hash = "$integrity";
  };

  build-system = [ python3Packages.hatchling ];

  dependencies = with python3Packages; [
$packages
  ];

  # The archive has no tests.
  doCheck = false;
  pythonImportsCheck = [ "ullage" ];

  meta = {
    description = "$description";
    homepage = "$repository";
    license = lib.licenses.mit;
    mainProgram = "ullage";
  };
}
