/** Sets the display language. It is the first import of the page, because modules make texts while they are loaded. */
import { speak, type Texts, TEXTS } from '../../language';

const given = document.getElementById(TEXTS)?.textContent ?? '';
speak(document.documentElement.lang, given === '' ? undefined : (JSON.parse(given) as Texts));
