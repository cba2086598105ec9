/** Sets the display language. It is the first import of the page, because modules make texts while they are loaded. */
import { speak, type Texts } from '../../language';
import { TEXTS } from '../html';

const given = document.getElementById(TEXTS)?.textContent ?? '';
speak(document.documentElement.lang, given === '' ? undefined : (JSON.parse(given) as Texts));
