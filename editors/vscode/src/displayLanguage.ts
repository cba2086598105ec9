/** Sets the display language. It is the first import of the extension, because modules make texts while they are loaded. */
import * as vscode from 'vscode';

import { speak } from './language';

speak(vscode.env.language, vscode.l10n.bundle);
