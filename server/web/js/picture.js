// A context that writes SVG: charts draw on it as on a canvas.
import { colour } from './theme.js';

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const short = (x) => Number(x.toFixed(2));
const ANCHORS = { left: 'start', center: 'middle', right: 'end', start: 'start', end: 'end' };
const BASELINES = { top: 'text-before-edge', middle: 'central', bottom: 'text-after-edge', alphabetic: 'alphabetic' };

const STATE = ['dash', 'matrix', 'globalAlpha', 'lineWidth', 'fillStyle', 'strokeStyle', 'font', 'textAlign', 'textBaseline', 'clipPath'];

// The part of a canvas' 2D context that the charts draw with, as SVG.
export class SvgContext {
  constructor(width, height) {
    Object.assign(this, { width, height, parts: [], path: [], states: [], clips: 0, dash: [], matrix: '', globalAlpha: 1, lineWidth: 1, fillStyle: '#000', strokeStyle: '#000', font: '12px sans-serif', textAlign: 'left', textBaseline: 'alphabetic', clipPath: '' });
  }

  save() {
    this.states.push(Object.fromEntries(STATE.map((name) => [name, this[name]])));
  }

  restore() {
    Object.assign(this, this.states.pop());
  }

  translate(x, y) {
    this.matrix += ` translate(${short(x)} ${short(y)})`;
  }

  rotate(angle) {
    this.matrix += ` rotate(${short((angle * 180) / Math.PI)})`;
  }

  setLineDash(dash) {
    this.dash = dash;
  }

  beginPath() {
    this.path = [];
  }

  moveTo(x, y) {
    this.path.push(`M${short(x)} ${short(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`${this.path.length ? 'L' : 'M'}${short(x)} ${short(y)}`);
  }

  // A whole circle, the only arc that is drawn.
  arc(x, y, r) {
    this.path.push(`M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`);
  }

  rect(x, y, width, height) {
    this.path.push(`M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`);
  }

  clip() {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><path d="${this.path.join('')}"/></clipPath>`);
    this.clipPath = ` clip-path="url(#c${this.clips})"`;
  }

  common() {
    return `${this.matrix ? ` transform="${this.matrix.trim()}"` : ''}${this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : ''}${this.clipPath}`;
  }

  fill() {
    this.parts.push(`<path d="${this.path.join('')}" fill="${this.fillStyle}"${this.common()}/>`);
  }

  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.map(short).join(' ')}"` : '';
    this.parts.push(`<path d="${this.path.join('')}" fill="none" stroke="${this.strokeStyle}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="round"${dash}${this.common()}/>`);
  }

  // A rectangle by itself; the path that is being made stays.
  alone(x, y, width, height, draw) {
    const { path } = this;
    this.path = [];
    this.rect(x, y, width, height);
    draw.call(this);
    this.path = path;
  }

  fillRect(x, y, width, height) {
    this.alone(x, y, width, height, this.fill);
  }

  strokeRect(x, y, width, height) {
    this.alone(x, y, width, height, this.stroke);
  }

  fillText(text, x, y) {
    const [size, ...family] = this.font.split(' ');
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" font-size="${size}" font-family="${escaped(family.join(' '))}" text-anchor="${ANCHORS[this.textAlign]}" dominant-baseline="${BASELINES[this.textBaseline]}" fill="${this.fillStyle}"${this.common()}>${escaped(text)}</text>`);
  }

  drawImage(canvas, x, y, width, height) {
    this.parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" preserveAspectRatio="none"${this.imageSmoothingEnabled === false ? ' style="image-rendering: pixelated"' : ''} href="${canvas.toDataURL()}"${this.common()}/>`);
  }

  // The whole picture; scale: units of the drawing per pixel.
  text(scale = 1) {
    const { width, height, parts } = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width / scale)}" height="${short(height / scale)}" viewBox="0 0 ${short(width)} ${short(height)}"><rect width="100%" height="100%" fill="${colour('surface')}"/>${parts.join('')}</svg>\n`;
  }
}
