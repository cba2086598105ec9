/**
 * Takes the pictures out of the README of a package. On an extension's page VS Code shows only pictures of web sites: for
 * any other there is an empty frame. The walkthrough shows the package's own.
 */
import { execFileSync } from 'node:child_process';

import { python } from './python.mjs';

const SCRIPT = `
import io, re, sys, zipfile

package = sys.argv[1]
before = zipfile.ZipFile(io.BytesIO(open(package, "rb").read()))

with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as after:
    for entry in before.infolist():
        data = before.read(entry)
        if entry.filename.lower() == "extension/readme.md":
            text = re.sub(r"!\\[[^\\]]*\\]\\(images/[^)]+\\)\\n+", "", data.decode())
            if "![" in text:
                sys.exit("a picture is left in the README of the package")
            data = text.encode()
        after.writestr(entry, data)
`;

execFileSync(python, ['-c', SCRIPT, process.argv[2] ?? 'ullage.vsix'], { stdio: 'inherit' });
